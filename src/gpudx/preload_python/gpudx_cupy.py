"""CuPy's memory pool, switched off: its documented switch is a call, cupy.cuda.set_allocator (CuPy user guide, "Memory Management").

Each array is an allocation in the order of its stream then, as in the pool. Devices that have none get cudaMalloc's memory, whose
free waits for the device.
"""

from __future__ import annotations

import os
from typing import Any

MEMORY_POOLS_SUPPORTED = 115  # cudaDevAttrMemoryPoolsSupported (CUDA runtime API reference)


def switch_pool_off(cupy: Any) -> None:
    ordered: dict[int, bool] = {}  # by device, asked when the first array is made: asking starts CUDA

    def allocate(size: int) -> Any:
        device = cupy.cuda.runtime.getDevice()
        if device not in ordered:
            ordered[device] = _is_ordered(cupy, device)
        memory = cupy.cuda.memory
        return memory.malloc_async(size) if ordered[device] else memory.MemoryPointer(memory.Memory(size), 0)

    cupy.cuda.set_allocator(allocate)
    # For gpudx/lab/unpooled.py: this process takes its memory block by block.
    with open(os.path.join(os.environ["GPUDX_DIR"], f"{os.getpid()}-cupy.unpooled"), "w"):
        pass


def _is_ordered(cupy: Any, device: int) -> bool:
    if not hasattr(cupy.cuda.memory, "malloc_async") or cupy.cuda.runtime.is_hip:
        return False
    try:
        return bool(cupy.cuda.runtime.deviceGetAttribute(MEMORY_POOLS_SUPPORTED, device))
    except cupy.cuda.runtime.CUDARuntimeError:
        return False
