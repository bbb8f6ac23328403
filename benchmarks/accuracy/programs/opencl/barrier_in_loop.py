#: class = "C3"
#: cause = ["barrier-misuse", "hang", "race-in-kernel"]
#: kernel = "smooth"
#: launch = 1
#: plain = "sometimes"
#: fault = "Each work item runs the loop with the barrier as often as its own entry says."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
rounds = "most" if twin else "times[l]"
program = cl.Program(
    context,
    """
    __kernel void smooth(__global const int *times, __global int *out, __local int *s, int most)
    {
        int l = get_local_id(0), n = get_local_size(0), sum = 0;
        for (int r = 0; r < ROUNDS; ++r) {
            s[l] = r < times[l] ? 1 : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            sum += s[(l + 1) % n];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        out[l] = sum;
    }
    """.replace("ROUNDS", rounds),  # FAULT
).build()
times = (np.arange(64, dtype=np.int32) // 16) + 2
flags = cl.mem_flags
given = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=times)
result = cl.Buffer(context, flags.WRITE_ONLY, times.nbytes)
program.smooth(queue, (64,), (64,), given, result, cl.LocalMemory(256), np.int32(times.max()))
out = np.empty_like(times)
cl.enqueue_copy(queue, out, result)
right = bool((out == np.roll(times, -1)).all())
print("right" if right else "wrong")
sys.exit(0 if right else 1)
