"""A correct program with two OpenCL loaders: the buffer is written through the one that is not pyopencl's, as pyvkfft does.

With the argument "one" all goes through pyopencl, and the buffer is never written.
"""

import ctypes
import ctypes.util
import sys

import numpy as np
import pyopencl as cl

SIZE = 4096
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
data, back = cl.Buffer(context, cl.mem_flags.READ_WRITE, SIZE), np.empty(SIZE // 4, np.uint32)
if sys.argv[1:] != ["one"]:
    other = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    other.clEnqueueFillBuffer.argtypes = [pointer, pointer, pointer, size, size, size, ctypes.c_uint, pointer, pointer]
    value = ctypes.c_uint32(7)
    assert other.clEnqueueFillBuffer(queue.int_ptr, data.int_ptr, ctypes.byref(value), 4, 0, SIZE, 0, None, None) == 0
cl.enqueue_copy(queue, back, data)
assert sys.argv[1:] == ["one"] or (back == 7).all()
