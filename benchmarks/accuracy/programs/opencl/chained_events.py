#: class = "T"
#: cause = []
#: plain = "passes"
#: fault = "None: an out-of-order queue with a complete chain of events, and two independent branches that run at the same time."
import sys

import numpy as np
import pyopencl as cl

context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
program = cl.Program(
    context,
    """
    __kernel void scale(__global int *x, int f) { x[get_global_id(0)] *= f; }
    __kernel void join(__global const int *a, __global const int *b, __global int *c)
    { int i = get_global_id(0); c[i] = a[i] + b[i]; }
    """,
).build()
ones = np.ones(512, np.int32)
flags = cl.mem_flags
a, b, c = (cl.Buffer(context, flags.READ_WRITE, ones.nbytes) for _ in range(3))
ends = []
for buffer, factors in ((a, (2, 3)), (b, (5, 7))):
    last = cl.enqueue_copy(queue, buffer, ones, is_blocking=False)
    for factor in factors:
        last = cl.Kernel(program, "scale")(queue, (512,), None, buffer, np.int32(factor), wait_for=[last])
    ends.append(last)
joined = cl.Kernel(program, "join")(queue, (512,), None, a, b, c, wait_for=ends)
out = np.empty_like(ones)
cl.enqueue_copy(queue, out, c, wait_for=[joined])
print("sum", out[0], out[-1])
sys.exit(0 if (out == 41).all() else 1)
