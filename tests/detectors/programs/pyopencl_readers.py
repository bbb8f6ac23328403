"""Two launches in an out-of-order queue on one buffer. "read": both only read it, though it is not declared const. "read binary": by a
program from a binary."""

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void twice(global float *data, global float *out) { out[get_global_id(0)] = 2 * data[get_global_id(0)]; }
kernel void thrice(global float *data, global float *out) { out[get_global_id(0)] = 3 * data[get_global_id(0)]; }
kernel void clear(global float *data, global float *out) { data[get_global_id(0)] = out[get_global_id(0)]; }
"""
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
program = cl.Program(context, SOURCE).build(cache_dir=False)
if "binary" in sys.argv:
    program = cl.Program(context, context.devices, program.get_info(cl.program_info.BINARIES)).build()
host = np.ones(1024, np.float32)
data, first, second = (cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=host) for _ in range(3))
second_kernel = program.thrice if sys.argv[1] == "read" else program.clear
program.twice(queue, (1024,), None, data, first)
second_kernel(queue, (1024,), None, data, second)
queue.finish()
