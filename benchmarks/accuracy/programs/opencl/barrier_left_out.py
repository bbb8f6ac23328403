#: class = "B1"
#: group = "order"
#: cause = ["unordered-access"]
#: kernel = ["stage", "combine"]
#: other = ["stage", "combine"]
#: plain = "exit"
#: fault = "Two stages run on an out-of-order queue; the barrier before the kernel that combines them is missing."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
program = cl.Program(
    context,
    """
    __kernel void stage(__global int *x, int value, int rounds)
    {
        uint v = get_global_id(0);
        for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;
        x[get_global_id(0)] = v == 77 ? 0 : value;
    }
    __kernel void combine(__global const int *a, __global const int *b, __global int *c)
    { int i = get_global_id(0); c[i] = a[i] * b[i]; }
    """,
).build()
zeros = np.zeros(16, np.int32)
a, b, c = (cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=zeros) for _ in range(3))
cl.Kernel(program, "stage")(queue, (16,), (16,), a, np.int32(6), np.int32(4_000_000))
cl.Kernel(program, "stage")(queue, (16,), (16,), b, np.int32(7), np.int32(40_000))
if twin:
    cl.enqueue_barrier(queue)
cl.Kernel(program, "combine")(queue, (16,), (16,), a, b, c)  # FAULT
queue.finish()
out = np.empty(16, np.int32)
cl.enqueue_copy(queue, out, c)
print("product", out[0])
sys.exit(0 if (out == 42).all() else 1)
