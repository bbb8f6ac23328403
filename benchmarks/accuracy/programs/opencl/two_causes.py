#: class = "B1"
#: group = "order"
#: cause = ["unordered-access", "read-before-write"]
#: kernel = ["produce", "finish_up"]
#: plain = "exit"
#: fault = "Two faults at once: nothing orders the two queues, and the offsets are never written."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
first, second = cl.CommandQueue(context), cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void produce(__global int *x, int rounds)
    {
        uint v = get_global_id(0);
        for (int r = 0; r < rounds; ++r) v = v * 69069u + 1u;
        x[get_global_id(0)] = v == 3 ? 0 : 50;
    }
    __kernel void finish_up(__global const int *x, __global const int *offsets, __global int *y)
    { int i = get_global_id(0); y[i] = x[i] + offsets[i]; }
    """,
).build()
flags = cl.mem_flags
zeros = np.zeros(16, np.int32)
x = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=zeros)
offsets = cl.Buffer(context, flags.READ_WRITE, zeros.nbytes)
y = cl.Buffer(context, flags.READ_WRITE, zeros.nbytes)
if twin:
    cl.enqueue_fill_buffer(first, offsets, np.int32(0), 0, zeros.nbytes)
produced = cl.Kernel(program, "produce")(first, (16,), (16,), x, np.int32(8_000_000))
first.flush()
waits = [produced] if twin else None
cl.Kernel(program, "finish_up")(second, (16,), (16,), x, offsets, y, wait_for=waits)  # FAULT
second.finish()
first.finish()
out = np.empty_like(zeros)
cl.enqueue_copy(first, out, y)
right = bool((out == 50).all())
print("right" if right else "wrong")
sys.exit(0 if right else 1)
