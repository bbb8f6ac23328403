#: class = "G1"
#: cause = ["failed-call"]
#: call = "clCreateKernel"
#: plain = "exit"
#: fault = "The kernel is asked for under its old name."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, "__kernel void axpy_v2(__global float *y, float a) { y[get_global_id(0)] += a; }").build()
y = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(32, np.float32))
kernel = cl.Kernel(program, "axpy_v2" if twin else "axpy")  # FAULT
kernel.set_args(y, np.float32(1.5))
cl.enqueue_nd_range_kernel(queue, kernel, (32,), None)
queue.finish()
print("done")
