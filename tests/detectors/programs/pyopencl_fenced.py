"""A pyopencl program: `right` computes and checks, `past` reads one element too many."""

import sys

import numpy as np
import pyopencl as cl
import pyopencl.array

SOURCE = (
    "kernel void twice(global const float *a, global float *b, int n) { for (int i = 0; i < n; i++) b[i] = 2 * a[i]; }"
)

context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
host = np.arange(1024, dtype=np.float32)
given = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
made = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 2 * host.nbytes)
program.twice(queue, (1,), None, given, made, np.int32(1025 if sys.argv[1] == "past" else 1024))
result = np.empty_like(host)
cl.enqueue_copy(queue, result, made)
assert (result == 2 * host).all()
assert given.flags == cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
array = cl.array.to_device(queue, host)
assert (array * 2).get()[3] == 6
