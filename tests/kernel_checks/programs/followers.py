"""Accesses outside memory, and races and reads that come of what they left out; with "right" nothing leaves its memory."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void places(__global int *to, __local int *t) {
  int l = get_local_id(0), i = get_global_id(0);
  t[l + (l >> 4)] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  to[i] = t[l + (l >> 4)];
}
__kernel void scattered(__global const int *to, __global float *o) { int i = get_global_id(0); o[to[i]] = i; }
__kernel void planes(__global float *image, int plane) {
  int i = get_global_id(0);
  if (RIGHT ? i < plane : 1) { image[i] = i; image[plane + i] = i + 1; }
}
__kernel void alone(__global float *o) { int i = get_global_id(0); o[RIGHT ? i : i / 2] = i; }
__kernel void chosen(__global int *slot, __global float *o, int n) {
  int i = get_global_id(0);
  slot[RIGHT ? i : i / 2] = RIGHT ? i : i * 1000;
  o[slot[RIGHT ? i : i / 2]] = 1;
}
__kernel void tallied(__global const int *to, __global int *bins) {
  int i = get_global_id(0);
#if RIGHT
  atomic_inc(&bins[to[i] & 15]);
#else
  bins[to[i] & 15] += 1;
#endif
}
__kernel void unloaded(__global int *to) {
  __local int t[64];
  int l = get_local_id(0), i = get_global_id(0);
  if (RIGHT || l < 32) t[l] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  to[i] = t[l];
}
__kernel void dealt(__global const int *to, __global float *o) { int i = get_global_id(0); o[to[i] & 255] = i; }
"""


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])

    def memory(count: int, kind: type = np.float32) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(count, kind))

    to = memory(256, np.int32)
    made.places(queue, (256,), (64,), to, cl.LocalMemory(4 * (67 if right else 64)))
    made.scattered(queue, (256,), (64,), to, memory(256))
    made.tallied(queue, (256,), (64,), to, memory(16, np.int32))
    hands = memory(256, np.int32)
    made.unloaded(queue, (256,), (64,), hands)
    made.dealt(queue, (256,), (64,), hands, memory(256))
    made.planes(queue, (1024,), (64,), memory(2 * 1000), np.int32(1000))
    made.alone(queue, (256,), (64,), memory(256))
    made.chosen(queue, (256,), (64,), memory(256, np.int32), memory(256), np.int32(256))
    queue.finish()


main(sys.argv[1] == "right")
