#: class = "A3"
#: cause = ["index-overflow"]
#: kernel = "touch"
#: launch = 1
#: argument = [0, 1, 2, 3, 4, 5]
#: plain = "signal"
#: fault = "The offset batch x heads x tokens x dim is a product of ints that passes 2^31."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
batch, heads, tokens, dim = 3, 40, 150000, 128
program = cl.Program(
    context,
    f"""
    typedef {"long" if twin else "int"} index_t;
    __kernel void touch(__global char *kv, int b, int h, int heads, int tokens, int dim)
    {{
        index_t row = ((index_t)b * heads + h) * tokens;
        kv[row * dim + (index_t)get_global_id(0)] = 1;
    }}
    """,  # FAULT
).build()
kv = cl.Buffer(context, cl.mem_flags.READ_WRITE, batch * heads * tokens * dim)
program.touch(queue, (dim,), None, kv, *map(np.int32, (batch - 1, heads - 1, heads, tokens, dim)))
queue.finish()
print("touched")
