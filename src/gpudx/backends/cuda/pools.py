"""Frameworks that keep memory of their own and divide it: one fence then stands around many of their blocks.

PyTorch has documented switches (its notes on CUDA semantics, "Memory management"). PYTORCH_NO_CUDA_MEMORY_CACHING=1 is not
the one to use here: each free then waits for the device, and captures of graphs fail, because they may not allocate. With the
backend cudaMallocAsync each tensor is an allocation in the order of its stream, and a capture's own. CuPy has none in the
environment: its documentation switches the pool off in the program, with cupy.cuda.set_allocator; gpudx/preload_python does that.
"""

from __future__ import annotations

UNPOOLED = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
# Framework, as gpudx/preload_python calls it -> part of a loaded file's path, and what to say where the pool stayed.
POOLS = {
    "cupy": (
        "/cupy",
        "Blocks of CuPy's memory pool share one fence. "
        "cupy.cuda.set_allocator(None) in the program switches it off.",
    )
}
