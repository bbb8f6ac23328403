"""Frameworks that keep memory of their own and divide it: one fence then stands around many of their blocks.

PyTorch has a documented switch (its notes on CUDA semantics, "Memory management": PYTORCH_NO_CUDA_MEMORY_CACHING=1). CuPy has
none in the environment: its documentation switches the pool off in the program, with cupy.cuda.set_allocator(None).
"""

from __future__ import annotations

UNPOOLED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
# Part of a loaded file's path -> what to say.
POOLS = {
    "/cupy": "CuPy's memory pool is not seen through: blocks of it share one fence. "
    "cupy.cuda.set_allocator(None) in the program switches it off.",
}
