"""Kernels in which two work-items meet at one element, each for another reason, or with "right" their correct neighbours."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void turned(__global float *o, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  int i = y * w + x;
  o[i] = x + y;
}
__kernel void padded(__global float *o, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  if (RIGHT ? x < w : 1) o[y * w + x] = x + y;
}
__kernel void pitched(__global float *o, int pitch) { o[get_global_id(1) * pitch + get_global_id(0)] += get_global_id(0); }
__kernel void spans(__global float *o, int chunk, int count) {
  int i = get_global_id(0);
  for (int k = 0; k < count; ++k) o[i * chunk + k] = i + k;
}
__kernel void each_group(__global float *o) { o[RIGHT ? get_global_id(0) : get_local_id(0)] = get_group_id(0); }
__kernel void one_per_group(__global float *o) { if (RIGHT ? !get_local_id(0) : 1) o[get_group_id(0)] = get_local_id(0) + 2; }
__kernel void flat(__global float *o, int w) { o[get_global_id(0) + (RIGHT ? get_global_id(1) * w : 0)] = get_global_id(1); }
__kernel void halved(__global float *o) { int i = get_global_id(0); if (RIGHT ? i % 2 == 0 : 1) o[i / 2] = i; }
__kernel void rounds(__global const float *a, __global float *o, int n) {
  __local float tile[64];
  int l = get_local_id(0);
  float carry = 0;
  for (int base = 0; base < n; base += 64) {
    tile[l] = a[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    carry += tile[63 - l];
    SAFE
  }
  o[get_global_id(0)] = carry;
}
__kernel void mirrored(__global const float *a, __global float *o, __local float *t) {
  int l = get_local_id(0);
  t[l] = a[l];
  SAFE
  o[get_global_id(0)] = t[63 - l];
}
__kernel void shifted(__global float *a, __global float *o, int n) {
  int i = get_global_id(0);
  float next = i + 1 < n ? a[i + 1] : 0;
  if (RIGHT) o[i] = next; else a[i] = next;
}
__kernel void handed_on(__global float *a, __global float *o, int n) {
  int i = get_global_id(0);
  if (!RIGHT) a[i] = i;
  o[i] = a[(i + 64) % n];
}
__kernel void newest(__global int *a) { if (!RIGHT || !get_global_id(0)) a[0] = get_global_id(0); }
__kernel void scatter(__global const int *to, __global float *o) { int i = get_global_id(0); o[to[i]] = i; }
__kernel void tree(__global float *o, __local float *t) {
  int l = get_local_id(0);
  t[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s > 0; s /= 2) {
    if (l < s)
      t[l] += t[l + s];
    SAFE
  }
  if (l == 0) o[get_group_id(0)] = t[0];
}
__kernel void branch(__global float *o, __local float *t, int n) {
  int l = get_local_id(0);
  if (l < n) {
    t[l] = l;
    if (RIGHT) t[l] += 1; else
    o[get_group_id(0) * n + l] = t[n - 1 - l];
  }
}
__kernel void tallied(__global int *o) {
  int l = get_local_id(0);
  if (RIGHT) atomic_add(&o[l], l + 1); else o[l] += l + 1;
}
__kernel void pooled(__global float *a, uint in, uint out, int n) {
  int i = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[in + row * n + k];
  a[out + row * get_global_size(0) + i] = sum;
}
__kernel void combed(__global float *a, int in, int out) { int i = get_global_id(0); a[out + 2 * i] = a[in + 2 * i] + 1; }
__kernel void scanned(__global float *a, int back) {
  int i = get_global_id(0);
  if (RIGHT ? i < back : i >= back) a[i] += a[RIGHT ? i : i - back];
}
"""


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    safe = "barrier(CLK_LOCAL_MEM_FENCE);" if right else ""
    made = cl.Program(context, f"#define SAFE {safe}\n#line 1\n{SOURCE}").build([f"-DRIGHT={int(right)}"])

    def memory(count: int, kind: type = np.float32, values: object = 0) -> cl.Buffer:
        data = np.full(count, values, kind) if np.isscalar(values) else np.asarray(values, kind)
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)

    def run(name: str, shape: tuple[int, ...], group: tuple[int, ...] | None, *arguments: object) -> None:
        kernel = getattr(made, name)
        kernel(queue, shape, group, *(np.int32(one) if isinstance(one, int) else one for one in arguments))

    run("turned", (160, 96), None, memory(160 * 96), *((160, 96) if right else (96, 160)))
    run("padded", (64, 8), (16, 2), memory(64 * 8), 50)
    run("pitched", (64, 8), (16, 2), memory(64 * 8), 64 if right else 40)
    run("spans", (64,), (16,), memory(64 * 8), 8 if right else 4, 8)
    run("each_group", (256,), (64,), memory(256))
    run("one_per_group", (256,), (64,), memory(256))
    run("flat", (64, 4), (16, 1), memory(256), 64)
    run("halved", (256,), (64,), memory(256))
    run("rounds", (64,), (64,), memory(256), memory(64), 256)
    run("mirrored", (64,), (64,), memory(64), memory(64), cl.LocalMemory(256))
    run("shifted", (256,), (64,), memory(256), memory(256), 256)
    run("handed_on", (256,), (64,), memory(256), memory(256), 256)
    run("newest", (256,), (64,), memory(1, np.int32))
    run("tree", (256,), (64,), memory(4), cl.LocalMemory(256))
    run("branch", (256,), (64,), memory(128), cl.LocalMemory(256), 32)
    run("tallied", (256,), (64,), memory(64, np.int32))
    run("scatter", (256,), (64,), memory(256, np.int32, np.arange(256) if right else np.arange(256) % 200), memory(256))
    run("pooled", (64, 4), (16, 1), memory(1024), 0 if right else 200, 512 if right else 0, 32)
    run("combed", (64,), (16,), memory(512), 0, 1 if right else 2)
    run("scanned", (256,), (64,), memory(256), 4)
    queue.finish()


main(sys.argv[1] == "right")
