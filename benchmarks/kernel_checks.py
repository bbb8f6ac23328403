"""What checks inside OpenCL kernels cost: the time of a launch with its wait, in processes that take turns.

    python benchmarks/kernel_checks.py [--platform TEXT] [--megabytes 256] [--size 512] [--rounds 3] [--out FILE]

stream and gemm are kernels whose accesses the sizes of a launch prove, so that the program's own kernel runs; gather and
gemm-any have an index or a size from memory, so that every access is checked on the device.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STREAM = """
__kernel void stream(__global const float *a, __global float *b, float s, int n) {
  int i = get_global_id(0);
  if (i < n) b[i] = a[i] * s + 1.0f;
}
"""
GATHER = """
__kernel void gather(__global const float *a, __global float *b, __global const int *at, int n) {
  int i = get_global_id(0);
  if (i < n) b[i] = a[at[0] + i] * 2.0f + 1.0f;
}
"""
GEMM = """
#define T 16
__kernel void gemm(__global const float *a, __global const float *b, __global float *c, int m) {
  __local float ta[T][T], tb[T][T];
  int n = m;
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
ANY = (
    GEMM.replace("void gemm(", "void gemm_any(")
    .replace("float *c, int m", "float *c, __global const int *m")
    .replace("n = m", "n = m[0]")
)
WAYS = {"plain": None, "bounds": "bounds", "all": "opencl"}
KERNELS = ("stream", "gather", "gemm", "gemm_any")


def child(name: str, platform: str, megabytes: int, size: int, launches: int) -> None:
    """One program: prints the seconds of each launch, the first one left out."""
    import numpy as np
    import pyopencl as cl

    found = next(p for p in cl.get_platforms() if platform.lower() in p.name.lower())
    context = cl.Context([found.get_devices()[0]])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    count = megabytes * (1 << 20) // 8 if name in ("stream", "gather") else size * size
    buffers = [
        cl.Buffer(context, flags, hostbuf=np.ones(count, np.float32)) for _ in range(2 if count != size * size else 3)
    ]
    one = cl.Buffer(context, flags, hostbuf=np.array([0 if name == "gather" else size], np.int32))
    source, rest, shape, local = {
        "stream": (STREAM, [np.float32(2), np.int32(count)], (count,), (64,)),
        "gather": (GATHER, [one, np.int32(count)], (count,), (64,)),
        "gemm": (GEMM, [np.int32(size)], (size, size), (16, 16)),
        "gemm_any": (ANY, [one], (size, size), (16, 16)),
    }[name]
    program = cl._cl._Program(context, source.encode())
    program._build(b"", context.devices)
    kernel = cl._cl.Kernel(program, name)
    for index, value in enumerate([*buffers, *rest]):
        kernel.set_arg(index, value)
    seconds = []
    for _ in range(launches + 1):
        began = time.perf_counter()
        cl.enqueue_nd_range_kernel(queue, kernel, shape, local)
        queue.finish()
        seconds.append(time.perf_counter() - began)
    device = context.devices[0]
    print(json.dumps({"seconds": seconds[1:], "device": f"{found.name}, {device.name}, {device.driver_version}"}))


def measure(name: str, checks: str | None, given: argparse.Namespace) -> tuple[float, str, int]:
    own = [
        "--child",
        name,
        "--platform",
        given.platform,
        "--megabytes",
        str(given.megabytes),
        "--size",
        str(given.size),
    ]
    words = [sys.executable, __file__, *own]
    with tempfile.TemporaryDirectory() as case:
        if checks:
            words = [sys.executable, "-m", "gpudx", "run", f"--sanitize={checks}", "-q", "--case", case, "--", *words]
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=600, env={**os.environ, "PYOPENCL_NO_CACHE": "1"}
        )
        told = json.loads(done.stdout.splitlines()[-1])
        findings = json.loads(Path(case, "case.json").read_text())["findings"] if checks else []
    alarms = [one for one in findings if one["id"].startswith("kernel-check-")]
    return min(told["seconds"]), told["device"], len(alarms)


def compile_times() -> list[str]:
    """What rewriting adds for 500 lines: kernels of 10 lines each, and one kernel."""
    from gpudx.kernel_checks.options import Device
    from gpudx.kernel_checks.rewriting import USUAL, rewrite

    short = "".join(
        f"__kernel void k{n}(__global float *a, __global const float *b, int n) {{\n  int i = get_global_id(0);\n  float s = 0;\n"
        f"  for (int k = 0; k < n; k++) {{\n    s += b[(i + k) % n] * a[i];\n    if (s > {n}.0f)\n      s -= b[k];\n  }}\n  a[i] = s;\n}}\n"
        for n in range(50)
    )
    steps = "".join(
        f"  for (int k = 0; k < n; k += {n + 1}) {{\n    float v = b[(i + k) % n];\n    if (v > {n}.0f)\n      s += v * t[l];\n  }}\n"
        f"  barrier(CLK_LOCAL_MEM_FENCE);\n  t[l] = s / {n + 2}.0f;\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
        f"  s = fma(s, t[(l + {n}) % 64], 1.0f);\n  a[i] += s;\n"
        for n in range(49)
    )
    long = (
        "__kernel void k(__global float *a, __global const float *b, int n) {\n  __local float t[64];\n  int i = get_global_id(0);\n"
        f"  int l = get_local_id(0);\n  float s = 0;\n  t[l] = 0;\n  barrier(CLK_LOCAL_MEM_FENCE);\n{steps}  a[i] = s;\n}}\n"
    )
    rewrite(STREAM, "", Device())
    rows = []
    for kernels, body in (("50 kernels", short), ("one kernel", long)):
        for label, checks in (("bounds", frozenset({"bounds"})), ("all", USUAL)):
            spent = []
            for _ in range(7):
                began = time.process_time()
                rewrite(body, "", Device(), checks)
                spent.append(time.process_time() - began)
            rows.append(f"| {body.count(chr(10))} lines, {kernels}, {label} | {min(spent) * 1e3:.0f} ms |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", default="")
    parser.add_argument("--platform", default="")
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.platform, given.megabytes, given.size, given.launches)
        return
    rows, device = [], ""
    for name in given.kernels.split(","):
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        alarms = dict.fromkeys(WAYS, 0)
        for _ in range(given.rounds):
            for way, checks in WAYS.items():
                seconds, device, alarms[way] = measure(name, checks, given)
                times[way].append(seconds)
        for way in WAYS:
            ratios = [t / p for t, p in zip(times[way], times["plain"], strict=True)]
            best = f"{min(times[way]) * 1e3:.2f} ms | {min(times[way]) / min(times['plain']):.2f}x"
            rows.append(
                f"| {name} | {way} | {best} | {statistics.median(ratios):.2f}x ({min(ratios):.2f}x to {max(ratios):.2f}x) | {alarms[way]} |"
            )
            print(rows[-1], flush=True)
    text = "\n".join(
        [
            f"{device}; stream {given.megabytes} MB, gemm {given.size}x{given.size}; {given.rounds} processes each, in turns, the best of"
            f" {given.launches} launches of each",
            "",
            "| kernel | checks | best launch | ratio of the best | ratio in turns: median and range | findings |",
            "| --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
            "| source | processor time of rewriting |",
            "| --- | --- |",
            *compile_times(),
            "",
        ]
    )
    print(text)
    if given.out:
        with given.out.open("a") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
