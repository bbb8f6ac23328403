"""A correct program: two queues, events between them, sub-buffers, several kernels, everything checked."""

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *out) {
    int i = get_global_id(0);
    out[i] = a[i] + b[i];
}
kernel void scale(global float *data, float factor) { data[get_global_id(0)] *= factor; }
"""
COUNT = 4096

context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
first, second = cl.CommandQueue(context), cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
a, b = np.arange(COUNT, dtype=np.float32), np.ones(COUNT, dtype=np.float32)
flags = cl.mem_flags
a_buffer = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=a)
b_buffer = cl.Buffer(context, flags.READ_WRITE, b.nbytes)
out = cl.Buffer(context, flags.READ_WRITE, a.nbytes)

for factor in (2.0, 3.0):
    written = cl.enqueue_copy(second, b_buffer, b, is_blocking=False)
    added = program.add(first, (COUNT,), None, a_buffer, b_buffer, out, wait_for=[written])
    scaled = program.scale(second, (COUNT,), (64,), out, np.float32(factor), wait_for=[added])
    result = np.empty_like(a)
    cl.enqueue_copy(first, result, out, wait_for=[scaled])
    assert np.array_equal(result, (a + b) * np.float32(factor))

half = out.get_sub_region(0, COUNT * 2)
cl.Kernel(program, "scale")(first, (COUNT // 2,), None, half, np.float32(0.5))
cl.enqueue_copy(first, result, out)
assert np.array_equal(result[: COUNT // 2], (a + b)[: COUNT // 2] * np.float32(1.5))
kernels = [cl.Kernel(program, "scale") for _ in range(3)]
for kernel in kernels:
    kernel.set_args(out, np.float32(1))
    cl.enqueue_nd_range_kernel(first, kernel, (COUNT,), None)
first.finish()
del half, program
context = first.context  # asked for again, through the queue that holds it
cl.Buffer(context, flags.READ_WRITE, 64)
print("right")
