"""Kernels that leave a part of a buffer unwritten, which another kernel reads; with "right" they write all of it."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void by_four(__global const float4 *a, __global float4 *o) { int i = get_global_id(0); o[i] = a[i] * 2; }
__kernel void doubled(__global const float *a, __global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = a[i] * 2; }
__kernel void sums(__global const float *a, __global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = a[i] + 1; }
__kernel void turned(__global float *o, int rows, int columns) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < columns && y < rows) o[y * columns + x] = x;
}
__kernel void means(__global const float *a, __global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = a[i] + 1; }
__kernel void moved(__global float *v, __global const float *g, float by) { int i = get_global_id(0); v[i] = by * v[i] - g[i]; }
__kernel void in_place(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = a[i] * 3; }
__kernel void padded(__global float *o, int n) { int i = get_global_id(0); if (i >= n) o[i] = 0; }
__kernel void tail(__global const float *a, __global float *o, int n) { int i = get_global_id(0); o[i] = a[n + i]; }
__kernel void framed(__global float *o, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  o[y * width + x] = x;
}
__kernel void toned(__global const float *a, __global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = a[i] + 1; }
__kernel void floored(__global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = i; }
__kernel void added(__global const float *a, __global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = a[i] + 1; }
__kernel void spread(__global float *o, int n) { int i = get_global_id(0); if (i < n) o[2 * i] = i; }
__kernel void near(__global const float *a, __global float *o, int step) { int i = get_global_id(0); o[i] = a[step * i]; }
__kernel void cleared(__global float *o) { o[get_local_id(0)] = 0; }
__kernel void cleared_right(__global float *o) { o[get_global_id(0)] = 0; }
__kernel void counted(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = a[i] + 1; }
"""
N = 707


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build()

    def empty(count: int) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE, count * 4)

    def full(count: int) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(count, np.float32))

    def run(name: str, shape: tuple[int, ...], *arguments: object, group: tuple[int, ...] | None = None) -> None:
        getattr(made, name)(queue, shape, group, *(np.int32(one) if isinstance(one, int) else one for one in arguments))

    short = empty(N)
    run("by_four", (N // 4,), full(N), short)
    if right:
        run("doubled", (N,), full(N), short, N)
    run("sums", (N,), short, empty(N), N)
    image = empty(100 * 300)
    run("turned", (304, 112) if right else (112, 304), image, 100, 300)
    run("means", (30000,), image, empty(30000), 30000)
    run("moved", (64,), full(64) if right else empty(64), full(64), np.float32(0.5))
    same = full(64) if right else empty(64)
    run("in_place", (64,), same, same)
    # A tail that only a guard of the other direction writes, after all that comes before it was written by another kernel.
    ends = empty(256)
    run("padded", (256,), ends, 200)
    run("tail", (56,), ends, empty(56), 200)
    frame = empty(50 * 30)
    run("framed", (56, 32) if right else (32, 56), frame, 50, 30, group=(8, 8))
    run("toned", (1500,), frame, empty(1500), 1500)
    row = empty(1000)
    run("floored", (1024,) if right else (960,), row, 1000, group=(64,))
    run("added", (1000,), row, empty(1000), 1000)
    # Every other element is left out by design; the reader is what is wrong.
    wide = empty(256)
    run("spread", (128,), wide, 128)
    run("near", (128,), wide, empty(128), 2 if right else 1)
    bins = empty(256)
    run("cleared_right" if right else "cleared", (256,), bins, group=(64,))
    run("counted", (256,), bins, empty(256))
    queue.finish()


main(sys.argv[1] == "right")
