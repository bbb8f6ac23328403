"""Rewrites PTX so that kernels check themselves on the GPU: races between blocks in global memory, and where a NaN or infinity is made.

`rewrite` puts calls into the text, `device.ptx` has what they call, and native/cuda/ptx_checks.c hands the result to the driver in
place of the program's own code.
"""
