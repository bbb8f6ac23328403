"""Memory next to inaccessible pages: an access that reaches them is a fault at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from gpudx.backends.cuda.dumps import ABORTING
from gpudx.lab.experiments import Context, Row, needs_launch
from gpudx.model.how import Fence, How
from gpudx.model.investigation import NO_RED_ZONE, NOT_CUDA

COST = 1.5
ALIGN = 4  # of the smallest type that most kernels index by
PARTS = "GPUDX_PARTS"  # native/opencl/ranges.c
SHOWN = """Such an access is reported with kernel, argument and distance. If the failure stays with every allocation fenced, and
nothing is reported, it does not come from such an access; accesses inside an allocation are not seen."""


def above(context: Context) -> How:
    return replace(context.how, fence=Fence("high"))


def below(context: Context) -> How:
    return replace(context.how, fence=Fence("low"))


def close(context: Context) -> How:
    return replace(context.how, fence=Fence("high", ALIGN))


def dumped(context: Context, edge: Literal["high", "low"] = "high") -> How:
    return replace(context.how.under(ABORTING), fence=Fence(edge), dump=True)


def serialised(context: Context) -> How:
    return replace(above(context), serialise=True)


def no_red_zones(context: Context) -> str | None:
    return None if "hip" in context.apis and context.launches else NO_RED_ZONE


def no_dump(context: Context) -> str | None:
    return None if "cuda" in context.apis else NOT_CUDA


def by_parts(context: Context) -> How:
    return replace(context.how.under({PARTS: "1"}), fence=Fence("high"))


def no_parts(context: Context) -> str | None:
    return None if context.parts else "no buffer is used only through sub-buffers that do not overlap"


ROWS = (
    Row(
        __name__,
        "fenced",
        COST,
        f"""Puts inaccessible pages after each allocation: an access past its end, or after its free, is a fault at once.

{SHOWN}""",
        missing=needs_launch,
        how=above,
    ),
    Row(
        __name__,
        "fenced-dump",
        2.0,
        """As fenced, and the driver writes a core dump of the device when a kernel hits the fence.

The fence alone shows only which launch failed. The dump has the instruction and its registers, and so the address, argument and
distance, even of an access that would have landed in another live buffer without the fence.""",
        missing=no_dump,
        how=dumped,
    ),
    Row(
        __name__,
        "fenced-serialised",
        2.0,
        """As fenced, with a wait and a check after each launch (HIP).

Where a device cannot map memory, each buffer is followed by a red zone, a known pattern. A write into it is seen only when the program
waits, and several launches may have made it. A wait after each launch shows which one did.""",
        missing=no_red_zones,
        how=serialised,
    ),
    Row(
        __name__,
        "low-fenced",
        COST,
        f"""Puts inaccessible pages before each allocation: an access before its start, or after its free, is a fault at once.

{SHOWN}""",
        missing=needs_launch,
        how=below,
    ),
    Row(
        __name__,
        "low-fenced-dump",
        2.0,
        """As low-fenced, and the driver writes a core dump of the device when a kernel hits the fence.

The dump has the instruction and its registers, and so the address, argument and distance.""",
        missing=no_dump,
        how=partial(dumped, edge="low"),
    ),
    Row(
        __name__,
        "close-fenced",
        COST,
        """As fenced, with allocations aligned to only four bytes, so that almost no padding is left before the fence.

This catches an access to the few bytes of padding that the API's alignment leaves after a buffer. Kernels that load vectors from the
start of a buffer may need more alignment than this: a misaligned access proves nothing here.""",
        missing=needs_launch,
        how=close,
    ),
    Row(
        __name__,
        "parts-fenced",
        COST,
        """Gives each sub-buffer memory of its own, followed by inaccessible pages.

Fences surround whole buffers, so an access that leaves one sub-buffer and lands in the next hits none. Here it does, and kernel,
argument and distance are known. Used only if a plain run accessed such buffers through sub-buffers that do not overlap: then nothing
else changes. A clean run refutes nothing: accesses before the start of a sub-buffer are not checked.""",
        missing=no_parts,
        how=by_parts,
    ),
)
