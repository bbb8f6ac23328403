"""CUDA kernels check themselves, in PTX that is rewritten when their module is loaded. Code that is embedded without PTX runs as it is:
a clean run says nothing of that."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpudx.lab import kernel_checked
from gpudx.lab.experiments import NOT_CUDA, Context, Row
from gpudx.model.how import How

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
        """CUDA kernels keep, for each word of global memory, the block that wrote it last, and report accesses of other blocks.

What they report is real: two blocks, one of which writes, without an atomic operation or a fence between. Shared memory is not looked
at, and neither is code that the program has no PTX of.""",
    ),
    _row(
        "shared-memory",
        "shared",
        """CUDA kernels fill their shared memory with large numbers when a block begins, and check how they use it.

They report reads of shared memory that the block never wrote, plain writes that race with atomic operations of other warps, and calls
such as __shfl_sync whose mask names lanes that a branch has led elsewhere. The first 16 blocks of each launch are looked at.
A read of what was not written is only reported where the run fails with these numbers: some programs read more than they use.""",
    ),
    _row(
        "numbers",
        "nan",
        """CUDA kernels report the first NaN, or infinity, that they make of other numbers.

The first launch that makes one which is stored is where it comes from. That the program fails because of it is not shown: some programs
compute NaN on purpose.""",
    ),
)
