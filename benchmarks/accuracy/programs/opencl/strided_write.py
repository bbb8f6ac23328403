#: class = "A1"
#: cause = ["out-of-bounds-access", "write-into-bystander"]
#: kernel = "enlarge"
#: launch = 3
#: argument = 1
#: plain = "signal"
#: fault = "The third level is twice as large as the buffer that was made for the second."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(
    context,
    """
    __kernel void enlarge(__global const float *small, __global float *large, int width)
    {
        int x = get_global_id(0), y = get_global_id(1);
        large[y * width + x] = small[(y / 2) * (width / 2) + x / 2];
    }
    """,
).build()
flags = cl.mem_flags
image = np.ones((64, 64), np.float32)
small = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=image)
levels = [128, 256, 512]
rooms = [128 * 128 * 4, 256 * 256 * 4, (512 * 512 * 4 if twin else 256 * 256 * 4)]  # FAULT
for width, room in zip(levels, rooms, strict=True):
    large = cl.Buffer(context, flags.READ_WRITE, room)
    program.enlarge(queue, (width, width), None, small, large, np.int32(width))
    small = large
out = np.empty(4, np.float32)
cl.enqueue_copy(queue, out, small)
print("levels done", out[0])
