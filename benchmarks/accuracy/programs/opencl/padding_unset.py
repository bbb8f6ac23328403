#: class = "H1"
#: cause = ["read-before-write"]
#: kernel = "row_sums"
#: launch = 1
#: argument = 0
#: plain = "sometimes"
#: fault = "Only 100 of 128 columns are uploaded, the kernel sums them all."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void row_sums(__global const float *x, __global float *sums, int cols)
    {
        float s = 0;
        for (int c = 0; c < cols; ++c) s += x[get_global_id(0) * cols + c];
        sums[get_global_id(0)] = s;
    }
    """,
).build()
rows, cols, padded = 200, 100, 128
values = np.ones((rows, cols), np.float32)
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, rows * padded * 4)
if twin:
    cl.enqueue_fill_buffer(queue, x, np.float32(0), 0, rows * padded * 4)
cl.enqueue_copy(
    queue,
    x,
    values,
    buffer_origin=(0, 0),
    host_origin=(0, 0),
    region=(cols * 4, rows),
    buffer_pitches=(padded * 4,),
    host_pitches=(cols * 4,),
)  # FAULT
sums = cl.Buffer(context, cl.mem_flags.READ_WRITE, rows * 4)
program.row_sums(queue, (rows,), None, x, sums, np.int32(padded))
out = np.empty(rows, np.float32)
cl.enqueue_copy(queue, out, sums)
print("row 7:", out[7])
sys.exit(0 if (out == cols).all() else 1)
