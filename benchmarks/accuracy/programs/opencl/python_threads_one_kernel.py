#: class = "D2"
#: group = "order"
#: cause = ["kernel-shared-by-threads", "threads-collide"]
#: kernel = "fill_with"
#: plain = "sometimes"
#: fault = "All threads of the pool launch through the same kernel object."
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
sys.setswitchinterval(1e-6)
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
program = cl.Program(context, "__kernel void fill_with(__global int *x, int v) { x[get_global_id(0)] = v; }").build()
shared = cl.Kernel(program, "fill_with")


def task(worker: int) -> int:
    """Number of rounds in which the buffer held another worker's value."""
    kernel = cl.Kernel(program, "fill_with") if twin else shared  # FAULT
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    out = np.zeros(16, np.int32)
    wrong = 0
    for turn in range(100):
        value = worker * 1000 + turn
        kernel.set_arg(0, buffer)
        kernel.set_arg(1, np.int32(value))
        cl.enqueue_nd_range_kernel(queue, kernel, (16,), None)
        cl.enqueue_copy(queue, out, buffer)
        wrong += int((out != value).any())
    return wrong


with ThreadPoolExecutor(4) as pool:
    total = sum(pool.map(task, range(1, 5)))
print("wrong" if total else "right")
sys.exit(1 if total else 0)
