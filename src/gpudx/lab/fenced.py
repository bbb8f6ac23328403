"""Fenced memory: what `gpudx run --fence` asks the recorder for (native/core/fence.h says what a fence is)."""

from __future__ import annotations

from collections.abc import Mapping

from gpudx.errors import UserError
from gpudx.lab import unpooled
from gpudx.model.how import Fence

EDGE = "GPUDX_FENCE"
ALIGN = "GPUDX_FENCE_ALIGN"
RED = "red"
EDGES = ("high", "low", RED)
MOST_ALIGN = 1 << 20


def wanted(edge: str, align: int | None) -> Fence:
    """The fence that was asked for, if there is such a one."""
    if edge not in EDGES:
        raise UserError(f"There is no fence {edge!r}: give --fence, --fence=high, --fence=low or --fence=red.")
    if align is not None and (not 1 <= align <= MOST_ALIGN or align & (align - 1)):
        raise UserError(f"--fence-align {align} is not an alignment: give a power of two, at most {MOST_ALIGN}.")
    return Fence(edge, align)


def environment(fence: Fence, base: Mapping[str, str]) -> dict[str, str]:
    """The variables for the recorder, and those under which frameworks pass each allocation on to the driver."""
    align = {} if fence.align is None else {ALIGN: str(fence.align)}
    return {EDGE: fence.edge, **align, **unpooled.environment(base)}
