"""Vectors at addresses that are no multiples of their size, or with "right" read and written by functions that need less."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void records(__global const float *rec, __global float *o) {
  int i = get_global_id(0);
  float4 f = RIGHT ? vload4(0, rec + i * 5 + 1) : *(__global const float4 *)(rec + i * 5 + 1);
  o[i] = f.x + f.w;
}
__kernel void packed(__global const uchar *bytes, __global int *o) {
  int i = get_global_id(0);
  o[i] = RIGHT ? as_int(vload4(0, bytes + i * 5 + 1)) : *(__global const int *)(bytes + i * 5 + 1);
}
__kernel void stored(__global float *o) {
  int i = get_global_id(0);
  if (RIGHT) vstore2((float2)(1, 2), 0, o + i * 3 + 1);
  else *(__global float2 *)(o + i * 3 + 1) = (float2)(1, 2);
}
"""


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR

    def memory(count: int, kind: type = np.float32) -> cl.Buffer:
        return cl.Buffer(context, flags, hostbuf=np.zeros(count, kind))

    made.records(queue, (16,), None, memory(16 * 5), memory(16))
    made.packed(queue, (16,), None, memory(16 * 5, np.uint8), memory(16, np.int32))
    made.stored(queue, (16,), None, memory(16 * 3))
    queue.finish()


main(sys.argv[1] == "right")
