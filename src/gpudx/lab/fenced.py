"""Fenced memory: what `gpudx run --fence` asks the recorder for (native/core/fence.h says what a fence is)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudx import backends
from gpudx.errors import UserError

EDGE = "GPUDX_FENCE"
ALIGN = "GPUDX_FENCE_ALIGN"
EDGES = ("high", "low")
DEFAULT_ALIGN = 256  # CUDA C++ Programming Guide, "Device Memory Accesses": what allocation routines promise
LEAST_ALIGN = 16  # the widest access of a thread
MOST_ALIGN = 1 << 20


@dataclass(frozen=True)
class Fence:
    """Blocks lie against the upper ("high") or the lower fence, at multiples of `align` bytes."""

    edge: str = EDGES[0]
    align: int = DEFAULT_ALIGN


def wanted(edge: str, align: int | None) -> Fence:
    """The fence that was asked for, if there is such a one."""
    if edge not in EDGES:
        raise UserError(f"There is no fence {edge!r}: write --fence, --fence=high or --fence=low.")
    bytes_ = DEFAULT_ALIGN if align is None else align
    if not LEAST_ALIGN <= bytes_ <= MOST_ALIGN or bytes_ & (bytes_ - 1):
        raise UserError(f"--fence-align {bytes_} is no alignment: give a power of two from {LEAST_ALIGN} to {MOST_ALIGN}.")
    return Fence(edge, bytes_)


def environment(fence: Fence, base: Mapping[str, str]) -> dict[str, str]:
    """The variables for the recorder, and those under which frameworks pass each allocation on to the driver."""
    return {EDGE: fence.edge, ALIGN: str(fence.align), **backends.unpooled(base)}
