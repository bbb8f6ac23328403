#: class = "B4"
#: cause = ["host-memory-changed-under-copy", "host-read-before-copy-done"]
#: call = "clEnqueueReadBuffer"
#: plain = "exit"
#: fault = "The array is used right after a non-blocking read was enqueued."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void slow(__global int *x, int rounds)
    {
        int v = get_global_id(0);
        for (int i = 0; i < rounds; ++i) v = v * 22695477 + 1;
        x[get_global_id(0)] = v == 5 ? 8 : 9;
    }
    """,
).build()
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256 * 4)
result = np.zeros(256, np.int32)
program.slow(queue, (256,), (128,), x, np.int32(3_000_000))
done = cl.enqueue_copy(queue, result, x, is_blocking=False)
queue.flush()
if twin:
    done.wait()
total = int(result.sum())  # FAULT
print("total", total)
queue.finish()
sys.exit(0 if total == 9 * 256 else 1)
