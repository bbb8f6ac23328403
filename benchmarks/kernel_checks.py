"""What checks inside OpenCL kernels cost: kernel time with and without, in turns, and the time to rewrite a source.

    python benchmarks/kernel_checks.py [--platform TEXT] [--megabytes 256] [--size 512] [--rounds 7] [--out FILE]

The rewritten source is built and launched here as native/opencl/checks_launch.c does it, so that kernels are compared and not
processes. "all" includes the clearing of the memory that follows races, which a launch waits for.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.prelude import HEAD, RECORD
from gpudx.kernel_checks.rewriting import USUAL, rewrite

os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
warnings.simplefilter("ignore")
STREAM = """
__kernel void stream(__global const float *a, __global float *b, float s, int n) {
  int i = get_global_id(0);
  if (i < n) b[i] = a[i] * s + 1.0f;
}
"""
GEMM = """
#define T 16
__kernel void gemm(__global const float *a, __global const float *b, __global float *c, int n) {
  __local float ta[T][T], tb[T][T];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
  float sum = 0.0f;
  for (int t = 0; t < n / T; t++) {
    ta[ly][lx] = a[y * n + t * T + lx];
    tb[ly][lx] = b[(t * T + ly) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < T; k++)
      sum += ta[ly][k] * tb[k][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * n + x] = sum;
}
"""
BOUNDS = frozenset({"bounds"})


class Variant:
    """One way to run a kernel."""

    def __init__(self, cl, context, queue, source, name, checks) -> None:
        self.cl, self.context, self.queue = cl, context, queue
        device = context.devices[0]
        self.extra: list[str] = []
        self.sites = 0
        if checks:
            done = rewrite(source, "", Device(vendor=device.vendor, extensions=device.extensions), checks).rewritten
            source, self.sites = done.text, len(done.sites)
            self.extra = next(plan.extra for plan in done.kernels if plan.name == name)
        program = cl._cl._Program(context, source.encode())
        program._build(b"-w", context.devices)
        self.kernel = cl._cl.Kernel(program, name)

    def run(self, buffers, scalars, shape, local) -> float:
        cl, at = self.cl, 0
        for value in (*buffers, *scalars):
            self.kernel.set_arg(at, value)
            at += 1
        began = time.perf_counter()
        keep = []
        for spec in self.extra:
            self.kernel.set_arg(at, self._extra(spec, buffers, keep))
            at += 1
        cl.enqueue_nd_range_kernel(self.queue, self.kernel, shape, local)
        self.queue.finish()
        return time.perf_counter() - began

    def _extra(self, spec, buffers, keep):
        cl, flags = self.cl, self.cl.mem_flags.READ_WRITE
        what, _, rest = spec.partition(":")
        if what == "r":
            words = np.zeros(HEAD + self.sites + 96 * RECORD, np.uint32)
            words[1], words[2], words[3] = 96, self.sites, 1024
            self.report = cl.Buffer(self.context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=words)
            return self.report
        index = int(rest.split(":")[0])
        if what == "n":
            return np.uint64(buffers[index].size)
        if what == "w":
            made = cl.Buffer(self.context, flags, buffers[index].size // int(rest.split(":")[1]) * 8 + 16)
            cl.enqueue_fill_buffer(self.queue, made, np.uint32(0), 0, made.size).wait()
            keep.append(made)
            return made
        return self._written(buffers[index])

    def _written(self, buffer):
        """Made once for each buffer, as in a run: what was written stays written."""
        known = getattr(self, "known", {})
        self.known = known
        if buffer not in known:
            made = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, buffer.size)
            self.cl.enqueue_fill_buffer(self.queue, made, np.uint8(1), 0, made.size).wait()
            known[buffer] = made
        return known[buffer]

    def failures(self) -> int:
        words = np.zeros(1, np.uint32)
        self.cl.enqueue_copy(self.queue, words, self.report)
        return int(words[0])


def compare(cl, context, queue, name, source, buffers, scalars, shape, local, rounds) -> list[str]:
    ways = {"plain": frozenset(), "bounds": BOUNDS, "all": USUAL}
    variants = {way: Variant(cl, context, queue, source, name, checks) for way, checks in ways.items()}
    times = {way: [] for way in ways}
    for turn in range(rounds + 1):
        for way, variant in variants.items():
            seconds = variant.run(buffers, scalars, shape, local)
            if turn:
                times[way].append(seconds)
    rows = []
    best = min(times["plain"])
    for way in ways:
        ratios = [t / p for t, p in zip(times[way], times["plain"], strict=True)]
        failures = variants[way].failures() if way != "plain" else 0
        rows.append(
            f"| {name} | {way} | {min(times[way]) * 1e3:.2f} | {min(times[way]) / best:.2f}x | {statistics.median(ratios):.2f}x"
            f" ({min(ratios):.2f}x to {max(ratios):.2f}x) | {failures} |"
        )
    return rows


def compile_times(cl, context) -> list[str]:
    """500 lines: kernels of 10 lines each."""
    body = "".join(
        f"__kernel void k{n}(__global float *a, __global const float *b, int n) {{\n  int i = get_global_id(0);\n  float s = 0;\n"
        f"  for (int k = 0; k < n; k++) {{\n    s += b[(i + k) % n] * a[i];\n    if (s > {n}.0f)\n      s -= b[k];\n  }}\n  a[i] = s;\n}}\n"
        for n in range(50)
    )
    rewrite(STREAM, "", Device())
    rows = []
    for label, checks in (("bounds", BOUNDS), ("all", USUAL)):
        spent = []
        for _ in range(5):
            began = time.perf_counter()
            text = rewrite(body, "", Device(vendor=context.devices[0].vendor), checks).rewritten.text
            spent.append(time.perf_counter() - began)
        builds = {}
        for what, source in (("plain", body), (label, text)):
            began = time.perf_counter()
            cl._cl._Program(context, source.encode())._build(b"-w", context.devices)
            builds[what] = time.perf_counter() - began
        rows.append(
            f"| {body.count(chr(10))} lines, {label} | {min(spent) * 1e3:.0f} ms | {builds['plain'] * 1e3:.0f} ms | {builds[label] * 1e3:.0f} ms |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="")
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    import pyopencl as cl

    platform = next(p for p in cl.get_platforms() if given.platform.lower() in p.name.lower())
    context = cl.Context([platform.get_devices()[0]])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    n = given.megabytes * (1 << 20) // 8
    pair = [cl.Buffer(context, flags, hostbuf=np.ones(n, np.float32)) for _ in range(2)]
    rows = compare(cl, context, queue, "stream", STREAM, pair, [np.float32(2), np.int32(n)], (n,), (64,), given.rounds)
    del pair
    m = given.size
    three = [cl.Buffer(context, flags, hostbuf=np.ones(m * m, np.float32)) for _ in range(3)]
    rows += compare(cl, context, queue, "gemm", GEMM, three, [np.int32(m)], (m, m), (16, 16), given.rounds)
    lines = [
        f"{platform.name}, {context.devices[0].name}, {context.devices[0].driver_version}; stream {given.megabytes} MB, gemm {m}x{m};"
        f" best of {given.rounds} in turns",
        "",
        "| kernel | checks | ms | ratio of the best | ratio, median and range | failures |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        "| source | rewriting | build, plain | build, rewritten |",
        "| --- | --- | --- | --- |",
        *compile_times(cl, context),
    ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if given.out:
        with given.out.open("a") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
