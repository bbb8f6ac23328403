#: class = "B4"
#: group = "order"
#: cause = ["host-memory-changed-under-copy"]
#: call = "clEnqueueWriteBuffer"
#: plain = "exit"
#: fault = "One array stages all chunks; it is refilled while the last non-blocking copy has not run."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void busy(__global int *x, int rounds)
    { uint v = 1; for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u; *x = v; }
    """,
).build()
chunks, size = 4, 10000
scratch = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
device = cl.Buffer(context, cl.mem_flags.READ_WRITE, chunks * size * 4)
staging = np.empty(size, np.float32)
events = []
cl.Kernel(program, "busy")(queue, (1,), (1,), scratch, np.int32(60_000_000))
for chunk in range(chunks):
    staging[:] = chunk + 1  # FAULT
    events.append(cl.enqueue_copy(queue, device, staging, dst_offset=chunk * size * 4, is_blocking=False))
    queue.flush()
    if twin:
        events[-1].wait()
queue.finish()
back = np.empty(chunks * size, np.float32)
cl.enqueue_copy(queue, back, device)
seen = [float(back[chunk * size + 5]) for chunk in range(chunks)]
print("chunks", seen)
sys.exit(0 if seen == [1, 2, 3, 4] else 1)
