"""CuPy's memory pool, switched off: its documented switch is a call, cupy.cuda.set_allocator(None) (CuPy user guide, "Memory
Management")."""

from __future__ import annotations

import os
from typing import Any


def switch_pool_off(cupy: Any) -> None:
    cupy.cuda.set_allocator(None)
    # For gpudx/lab/unpooled.py: this process takes its memory block by block.
    with open(os.path.join(os.environ["GPUDX_DIR"], f"{os.getpid()}-cupy.unpooled"), "w"):
        pass
