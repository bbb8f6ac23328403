"""Indexes in variables of 8 and 16 bits: outgrown with "wrong", else their correct neighbours only."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
#if RIGHT
typedef uint Index;
#else
typedef ushort Index;
#endif
__kernel void row(__global const int *s, __global int *d, int pitch) {
  int x = get_global_id(0), y = get_global_id(1);
  Index at = y * pitch + x;
  d[y * pitch + x] = s[at];
}
__kernel void scatter(__global const int *where, __global int *d) {
  int i = get_global_id(0);
  Index to = where[i];
  d[to] = i;
}
__kernel void ring(__global int *d) {             /* wraps by design: 256 elements */
  uchar next = get_global_id(0) + 1;
  atomic_inc(&d[next]);
}
__kernel void low(__global const int *s, __global int *d) {   /* takes the low bits on purpose */
  int i = get_global_id(0);
  ushort hash = (s[i] * 31) ^ (s[i] >> 7), cast = (ushort)s[i];
  d[i] = s[hash] + s[cast];
}
"""
N = 70_000


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build([f"-DRIGHT={int(right)}"])

    def memory(values: np.ndarray) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values.astype(np.int32))

    numbers = memory(np.arange(N))
    made.row(queue, (350, 200), None, numbers, memory(np.zeros(N)), np.int32(350))
    made.scatter(queue, (N,), None, numbers, memory(np.zeros(N)))
    made.ring(queue, (1024,), None, memory(np.zeros(256)))
    made.low(queue, (N,), None, numbers, memory(np.zeros(N)))
    queue.finish()


main(sys.argv[1] == "right")
