"""Multiplies the offset of a copy by the size of the buffer's elements, for all copies of this size at this offset.

If the program fails every time and passes with the offset multiplied, the offset is in elements where bytes are expected. If it still
fails, this says nothing about other offsets. With a variant, another offset is multiplied.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, tried
from gpudx.model.how import How

ID = "scaled-offset"
COST = 1.0
CHANGES_PROGRAM = True
VARIABLE = "GPUDX_SCALE_OFFSET"  # native/opencl/offsets.h


def missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    return None if context.offsets else "no copy has an offset that could be in elements"


def variants(context: Context) -> tuple[str, ...]:
    return tuple(map(str, range(1, len(context.offsets) + 1))) or ("1",)


def how(context: Context) -> How:
    return tried(context.how).under({VARIABLE: context.offsets[int(context.variant or 1) - 1]})


def did(context: Context) -> str:
    """ "b:1024:2048:4": the side, the offset, the size and the factor."""
    return context.offsets[int(context.variant or 1) - 1]


def changed(context: Context) -> str:
    """ "the offset 1,024 of copies of 2,048 bytes multiplied by 4"."""
    _, offset, size, factor = did(context).split(":")
    which = f"the offset {int(offset):,}" if int(offset) else "the offsets"
    return f"{which} of copies of {int(size):,} bytes multiplied by {factor}"
