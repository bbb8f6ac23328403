"""Two arguments with one buffer: "kept" from an earlier launch, "both" set anew; "own" with a race through the second alone; "right":
exchanged as they should be."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void relax(__global const float *x, __global float *y) { int i = get_global_id(0); y[i] = x[(i + 1) % 256]; }
__kernel void own(__global const float *x, __global float *y) { int i = get_global_id(0); y[i] = y[(i + 1) % 256] + x[i]; }
"""
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "own" if sys.argv[1] == "own" else "relax")
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
pair = [cl.Buffer(context, flags, hostbuf=np.ones(256, np.float32)) for _ in range(2)]
for step in range(2):
    if sys.argv[1] != "kept" or not step:
        kernel.set_arg(0, pair[step if sys.argv[1] == "right" else 0])
    kernel.set_arg(1, pair[1 - step])
    cl.enqueue_nd_range_kernel(queue, kernel, (256,), (64,))
queue.finish()
