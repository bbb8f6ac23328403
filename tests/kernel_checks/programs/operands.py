"""Kernels that make NaN or infinity, each of other operands; with "right" of operands that they are defined for."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void differ(__global const float *a, __global float *d) { int i = get_global_id(0); d[i] = i ? a[i - 1] - a[i] : 1; }
__kernel void rooted(__global const float *d, __global float *o, float dt) { int i = get_global_id(0); o[i] = sqrt(d[i] / dt) + 1; }
__kernel void logged(__global const float *a, __global float *o) { int i = get_global_id(0); float x = a[i] - 4; o[i] = 2 * log(x); }
__kernel void averaged(__global const float *a, __global float *o, __global const int *n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n[i]; ++k) s += a[k];
  o[i] = s / n[i];
}
__kernel void turned(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = acos(a[i] / 4); }
__kernel void raised(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = pow(a[i] - 2, 0.5f) + pown(a[i], 2); }
__kernel void grown(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = exp(a[i] * 50); }
/* What is NaN or infinite on the way, and not in the end. */
__kernel void saved(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  o[i] = fmax(sqrt(a[i] - 100), 0.0f) + 1 / (1 + exp(a[i] * 1000));
}
__kernel void masked(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  float low = INFINITY;
  for (int k = 0; k < i; ++k) low = fmin(low, a[k]);
  o[i] = i < 4 ? NAN : low;
}
"""
N = 8


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build()

    def memory(values: object, kind: type = np.float32) -> cl.Buffer:
        data = np.asarray(values, kind)
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)

    def out() -> cl.Buffer:
        return memory(np.zeros(N))

    down = np.arange(N, 0, -1)
    up = down if right else np.where(np.arange(N) == 5, 9, down)
    steps = out()
    made.differ(queue, (N,), None, memory(up), steps)
    made.rooted(queue, (N,), None, steps, out(), np.float32(0.5))
    made.logged(queue, (N,), None, memory(np.full(N, 5.0 if right else 3.5)), out())
    made.averaged(queue, (N,), None, memory(np.zeros(N)), out(), memory(np.full(N, 4 if right else 0), np.int32))
    made.turned(queue, (N,), None, memory(np.full(N, 2.0 if right else 6.0)), out())
    made.raised(queue, (N,), None, memory(np.full(N, 2.5 if right else 1.0)), out())
    made.grown(queue, (N,), None, memory(np.full(N, 1.0 if right else 2.0)), out())
    made.saved(queue, (N,), None, memory(np.full(N, 2.0)), out())
    made.masked(queue, (N,), None, memory(np.full(N, 2.0)), out())
    queue.finish()


main(sys.argv[1] == "right")
