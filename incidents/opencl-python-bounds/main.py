"""Scales 10,000 values with PyOpenCL. The launch is rounded up to whole work-groups; the kernel has to check its index.

With the word "twin" it does.
"""

import sys

import numpy as np
import pyopencl as cl

CHECK = "if (i < n)" if "twin" in sys.argv[1:] else ""
SOURCE = f"""
__kernel void scale(__global const float *in, __global float *out, float factor, int n)
{{
    int i = get_global_id(0);
    {CHECK}
        out[i] = factor * in[i];
}}
"""
COUNT = 10_000
GROUP = 256


def rounded_up(count: int, step: int) -> int:
    return (count + step - 1) // step * step


def main() -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    values = np.arange(COUNT, dtype=np.float32)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "scale")
    source = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    result = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, values.nbytes)
    kernel(queue, (rounded_up(COUNT, GROUP),), (GROUP,), source, result, np.float32(2), np.int32(COUNT))
    scaled = np.empty_like(values)
    cl.enqueue_copy(queue, scaled, result)
    print("scaled", len(scaled), "values; the last is", scaled[-1])


main()
