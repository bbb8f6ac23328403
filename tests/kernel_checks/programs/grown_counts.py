"""Indexes that keep counting: a counter that nothing resets, start values that are too high, a number that grows with each launch."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void keep(__global const int *in, __global int *out, volatile __global uint *count, uint n) {
  uint i = get_global_id(0);
  if (i >= n || in[i] < 50) return;
  uint at = atomic_inc(count);
  out[at] = in[i];
}
__kernel void scatter(__global const int *keys, __global int *sorted, volatile __global int *cursor) {
  int at = atomic_inc(&cursor[keys[get_global_id(0)] % 4]);
  sorted[at] = get_global_id(0);
}
__kernel void add(__global int *log, uint first) { log[first + get_global_id(0)] = 1; }
__kernel void emit(__global int *place, __global int *speed, uint first) {
  uint i = first + get_global_id(0);
  place[i] = 1;
  speed[i] = 2;
}
__kernel void once(__global int *out, uint first) { out[first + get_global_id(0)] = 1; }
"""
N = 100


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR

    def memory(values: np.ndarray) -> cl.Buffer:
        return cl.Buffer(context, flags, hostbuf=values.astype(np.int32))

    numbers, out, count = memory(np.arange(N)), memory(np.zeros(N)), memory(np.zeros(1))
    for _ in range(3):
        if right:
            cl.enqueue_fill_buffer(queue, count, np.int32(0), 0, 4)
        made.keep(queue, (N,), None, numbers, out, count, np.uint32(N))
    starts = np.arange(4) * (N // 4) + (0 if right else N // 4)
    cursor = memory(np.zeros(4))
    cl.enqueue_copy(queue, cursor, starts.astype(np.int32))
    made.scatter(queue, (N,), None, numbers, memory(np.zeros(N)), cursor)
    log = memory(np.zeros(N))
    for launch in range(5 if right else 6):
        made.add(queue, (20,), None, log, np.uint32(20 * launch))
    place, speed = memory(np.zeros(40)), memory(np.zeros(40))
    for launch in range(4):
        if launch == 2:
            place = memory(np.zeros(80))
            speed = memory(np.zeros(80)) if right else speed
        made.emit(queue, (20,), None, place, speed, np.uint32(20 * launch))
    if not right:
        made.once(queue, (20,), None, memory(np.zeros(N)), np.uint32(90))
    queue.finish()


main(sys.argv[1] == "right")
