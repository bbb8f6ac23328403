#: class = "D1"
#: cause = ["argument-never-set", "failed-call"]
#: kernel = "threshold"
#: argument = 2
#: plain = "exit"
#: fault = "Argument 2 is never set."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void threshold(__global const float *x, __global uchar *y, float level)
    { int i = get_global_id(0); y[i] = x[i] > level; }
    """,
).build()
x = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.linspace(0, 1, 500, dtype=np.float32))
y = cl.Buffer(context, cl.mem_flags.READ_WRITE, 500)
kernel = cl.Kernel(program, "threshold")
kernel.set_arg(0, x)
kernel.set_arg(1, y)
if twin:
    kernel.set_arg(2, np.float32(0.5))
cl.enqueue_nd_range_kernel(queue, kernel, (500,), None)  # FAULT
out = np.empty(500, np.uint8)
cl.enqueue_copy(queue, out, y)
print(int(out.sum()), "above")
