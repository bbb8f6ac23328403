"""Buffers that a call writes in part before a kernel reads all of them; with "right" as much as is read."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void filled(__global const uint *a, __global uint *o) { size_t i = get_global_id(0); o[i] = a[i]; }
__kernel void written(__global const uint *a, __global uint *o) { size_t i = get_global_id(0); o[i] = a[i]; }
__kernel void copied(__global const double *a, __global double *o) { size_t i = get_global_id(0); o[i] = a[i]; }
__kernel void near(__global const int *from, __global int *far) { int i = get_global_id(0); far[i] = from[255 - i] + 1; }
__kernel void count(__global const int *far, __global int *bins) { int i = get_global_id(0); bins[(far[i] - 9) * 1000] = i; }
__kernel void tally(__global const int *key, __global int *bins) { int i = get_global_id(0); bins[key[i]] = i; }
"""
N = 256


def main(right: bool) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    made = cl.Program(context, SOURCE).build()

    def empty(size: int) -> cl.Buffer:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE, size)

    def run(name: str, buffer: cl.Buffer, each: int) -> None:
        getattr(made, name)(queue, (N,), (32,), buffer, empty(N * each))

    buffer = empty(N * 4)
    cl.enqueue_fill_buffer(queue, buffer, np.uint8(0), 0, N * 4 if right else N)
    run("filled", buffer, 4)
    buffer = empty(N * 4)
    cl.enqueue_copy(queue, buffer, np.zeros(N if right else 100, np.uint32))
    run("written", buffer, 4)
    buffer, full = empty(N * 8), empty(N * 8)
    cl.enqueue_fill_buffer(queue, full, np.float64(1), 0, N * 8)
    cl.enqueue_copy(queue, buffer, full, byte_count=N * 8 if right else N)
    run("copied", buffer, 8)
    # What a fill left becomes an index, through another kernel.
    least, far, bins = empty(N * 4), empty(N * 4), empty(64)
    cl.enqueue_fill_buffer(queue, least, np.int32(8), 0, N * 4 if right else N)  # any other number goes outside
    made.near(queue, (N,), (32,), least, far)
    made.count(queue, (1,), (1,), far, bins)
    # An index from memory that the host wrote completely: nothing of that explains it.
    keys = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.full(N, 3 if right else 99, np.int32))
    made.tally(queue, (1,), (1,), keys, bins)
    queue.finish()


main(sys.argv[1] == "right")
