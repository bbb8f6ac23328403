#: class = "A6"
#: cause = ["misaligned-access"]
#: kernel = "prices"
#: launch = 1
#: argument = 0
#: plain = "sometimes"
#: fault = "Records of 13 bytes hold a long at offset 1; the kernel loads it as if it were aligned."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
aligned = "*(__global const long *)(at + 1)"
bytewise = "as_long(vload8(0, at + 1))"
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void prices(__global const uchar *log, __global long *out)
    {
        __global const uchar *at = log + 13 * get_global_id(0);
        out[get_global_id(0)] = LOAD;
    }
    """.replace("LOAD", bytewise if twin else aligned),  # FAULT
).build()
records = np.zeros(300, dtype=np.dtype([("tag", "u1"), ("price", "<i8"), ("volume", "<i4")]))
records["price"] = np.arange(300)
log = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=records.view(np.uint8))
out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 300 * 8)
program.prices(queue, (300,), (1,), log, out)
result = np.empty(300, np.int64)
cl.enqueue_copy(queue, result, out)
print("last price", result[-1])
sys.exit(int(result[-1] != 299))
