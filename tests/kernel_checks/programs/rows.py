"""Rows that overflow, writes of equal values and padding of vectors; with "right" their correct neighbours only."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void tail(__global const uchar *s, __global uchar *d, int n) {
  int o = get_global_id(0) * 16;
  if (o + 16 > n) o = n - 16;
  vstore16(vload16(0, s + o) + (uchar16)(RIGHT ? 1 : get_global_id(0)), 0, d + o);
}
__kernel void inner(__global float *o) {
  __local float t[16][RIGHT ? 16 : 8];
  int x = get_local_id(0), y = get_local_id(1);
  t[y][x] = x + 16 * y;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[y * 16 + x] = t[y][0];
}
__kernel void slots(__global int *cells, volatile __global int *count, int cap) {
  int i = get_global_id(0), c = i % 8;
  int slot = atomic_inc(&count[c]);
  cells[c * cap + slot] = i;
}
__kernel void points(__global float3 *p) { int i = get_global_id(0); vstore3((float3)(i), 0, (__global float *)&p[i]); }
__kernel void twice(__global const float3 *p, __global float3 *q) { int i = get_global_id(0); q[i] = 2 * p[i]; }
"""


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])

    def memory(count: int) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(count, np.int32))

    made.tail(queue, (4,), (4,), memory(16), memory(16), np.int32(56))
    made.inner(queue, (16, 8 if not right else 16), (16, 8 if not right else 16), memory(256))
    made.slots(queue, (64,), (16,), memory(64), memory(8), np.int32(8 if right else 6))
    fresh = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 1024) for _ in range(2)]
    made.points(queue, (64,), None, fresh[0])
    made.twice(queue, (64,), None, *fresh)
    queue.finish()


main(sys.argv[1] == "right")
