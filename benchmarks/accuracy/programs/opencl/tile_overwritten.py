#: class = "C1"
#: cause = ["race-in-kernel"]
#: kernel = "matmul"
#: launch = 1
#: plain = "silent"
#: fault = "The next tile is loaded before all work items have multiplied with the last one."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
n, tile = 64, 8
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    #define T 8
    __kernel void matmul(__global const float *a, __global const float *b, __global float *c, int n)
    {
        __local float ta[T][T], tb[T][T];
        int x = get_local_id(0), y = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
        float sum = 0;
        for (int k = 0; k < n; k += T) {
            ta[y][x] = a[row * n + k + x];
            tb[y][x] = b[(k + y) * n + col];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = 0; i < T; ++i) sum += ta[y][i] * tb[i][x];
            AFTER
        }
        c[row * n + col] = sum;
    }
    """.replace("AFTER", "barrier(CLK_LOCAL_MEM_FENCE);" if twin else ""),  # FAULT
).build()
a = np.arange(n * n, dtype=np.float32).reshape(n, n) % 7
b = np.arange(n * n, dtype=np.float32).reshape(n, n) % 5
flags = cl.mem_flags
da = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=a)
db = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=b)
dc = cl.Buffer(context, flags.WRITE_ONLY, a.nbytes)
program.matmul(queue, (n, n), (tile, tile), da, db, dc, np.int32(n))
c = np.empty_like(a)
cl.enqueue_copy(queue, c, dc)
wrong = int((c != a @ b).sum())
print(wrong, "wrong elements")
sys.exit(1 if wrong else 0)
