"""CUDA kernels check themselves: their PTX is rewritten when the module is loaded. Code that is embedded without PTX runs as it is, so
a clean run says nothing about it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpudx.lab import kernel_checked
from gpudx.lab.experiments import Context, Row
from gpudx.model.how import How
from gpudx.model.investigation import NOT_CUDA

COST = 3.0


def why_missing(context: Context) -> str | None:
    return None if "cuda" in context.apis else NOT_CUDA


def with_checks(context: Context, checks: str) -> How:
    return replace(context.how, kernel_checks=kernel_checked.wanted(f"ptx:{checks}"))


def _row(name: str, checks: str, text: str) -> Row:
    return Row(__name__, name, COST, text, missing=why_missing, how=partial(with_checks, checks=checks))


ROWS = (
    _row(
        "global-races",
        "races",
        """CUDA kernels remember which block last wrote each word of global memory, and report accesses by other blocks.

What they report is real: two blocks, at least one of which writes, without an atomic operation or a fence between them. Shared memory
and code without PTX are not checked.""",
    ),
    _row(
        "shared-memory",
        "shared",
        """CUDA kernels fill their shared memory with large numbers when a block begins, and check how they use it.

They report reads of shared memory that the block never wrote, plain writes that race with atomic operations of other warps, and calls
such as __shfl_sync whose mask names lanes that took another branch, or that read lanes which have left the kernel. Only the first 16
blocks of each launch are checked. Undefined values (unwritten shared memory, absent lanes) are large numbers in these runs, and are
reported only if the outcome changes with them: some programs read more than they use.""",
    ),
    _row(
        "numbers",
        "nan",
        """CUDA kernels report the first NaN or infinity that they compute from other numbers.

The first launch that stores one is where it comes from. This does not show that the program fails because of it: some programs compute
NaN on purpose.""",
    ),
)
