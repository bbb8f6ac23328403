#: class = "A1"
#: cause = ["out-of-bounds-access"]
#: kernel = "median3"
#: launch = 1
#: argument = 0
#: plain = "silent"
#: fault = "The window of the first and the last sample reaches outside the signal."
import sys

import numpy as np
import pyopencl as cl

twin = sys.argv[1:] == ["twin"]
n = 4096
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
clamp = "clamp" if twin else "same"
program = cl.Program(
    context,
    """
    int same(int i, int low, int high) { return i; }
    __kernel void median3(__global const float *in, __global float *out, int n)
    {
        int i = get_global_id(0);
        float a = in[CLAMP(i - 1, 0, n - 1)], b = in[i], c = in[CLAMP(i + 1, 0, n - 1)];
        out[i] = fmax(fmin(a, b), fmin(fmax(a, b), c));
    }
    """.replace("CLAMP", clamp),  # FAULT
).build()
signal = np.sin(np.arange(n, dtype=np.float32))
source = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=signal)
result = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, signal.nbytes)
program.median3(queue, (n,), (32,), source, result, np.int32(n))
out = np.empty_like(signal)
cl.enqueue_copy(queue, out, result)
print(f"middle {out[n // 2]:.4f}")
