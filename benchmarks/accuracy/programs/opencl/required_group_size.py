#: class = "E1"
#: cause = ["launch-refused", "failed-call"]
#: kernel = "fused"
#: launch = 1
#: plain = "exit"
#: fault = "The kernel requires groups of 64, the launch has groups of 32."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void fused(__global int *x) { x[get_global_id(0)] = get_local_id(0); }
    """,
).build()
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1024 * 4)
local = 64 if twin else 32
program.fused(queue, (1024,), (local,), x)  # FAULT
out = np.empty(1024, np.int32)
cl.enqueue_copy(queue, out, x)
print("highest", out.max())
