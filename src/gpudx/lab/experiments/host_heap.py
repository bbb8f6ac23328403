"""Logs the program's heap: which block was allocated and freed, when, and from which line.

Transfers, and buffers on host memory, are compared with the blocks that they are in. Memory on the stack, in globals, from mmap or from
the program's own allocator is in no block and is not checked.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "host-heap"
COST = 1.3


def missing(context: Context) -> str | None:
    return None if "opencl" in context.apis else "the program makes no OpenCL calls"


def how(context: Context) -> How:
    return replace(context.how, heap=True)
