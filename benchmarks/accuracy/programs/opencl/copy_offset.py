#: class = "A2"
#: cause = ["copy-range", "failed-call"]
#: call = "clEnqueueCopyBuffer"
#: plain = "exit"
#: fault = "The destination offset of the copy is counted in elements of the wrong size: the copy leaves the buffer."
import sys

import numpy as np
import pyopencl as cl

twin = "twin" in sys.argv
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
pages = np.arange(8 * 256, dtype=np.int16)
source = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=pages)
cache = cl.Buffer(context, cl.mem_flags.READ_WRITE, pages.nbytes)
for page in range(8):
    item = 2 if twin else 4
    cl.enqueue_copy(queue, cache, source, byte_count=512, src_offset=page * 512, dst_offset=page * 256 * item)  # FAULT
out = np.empty_like(pages)
cl.enqueue_copy(queue, out, cache)
print("last", out[-1])
sys.exit(0 if out[-1] == pages[-1] else 1)
