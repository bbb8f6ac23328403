"""Fills a buffer in one queue and reads it in another with PyOpenCL. The read has to wait for the fill.

With the word "twin" it does. No kernel is built, so that a driver needs no linker either.
"""

import sys

import numpy as np
import pyopencl as cl

COUNT = 1 << 20


def main() -> None:
    context = cl.create_some_context(interactive=False)
    fills, reads = cl.CommandQueue(context), cl.CommandQueue(context)
    values = np.zeros(COUNT, dtype=np.float32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
    filled = cl.enqueue_fill_buffer(fills, buffer, np.float32(2), 0, values.nbytes)
    fills.flush()
    if "twin" in sys.argv[1:]:
        cl.enqueue_copy(reads, values, buffer, wait_for=[filled])
    else:
        cl.enqueue_copy(reads, values, buffer)
    fills.finish()
    print("the last value is", values[-1])


main()
