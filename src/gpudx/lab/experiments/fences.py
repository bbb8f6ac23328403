"""Memory against one of two fences: an access that crosses it is a fault at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from gpudx.backends.cuda.dumps import ABORTING
from gpudx.lab.experiments import NOT_CUDA, Context, Row, needs_gpu_calls
from gpudx.model.how import Fence, How

COST = 1.5
ALIGN = 4  # of the smallest type that most kernels index by
PARTS = "GPUDX_PARTS"  # native/opencl/ranges.c
SHOWN = """A fault of this kind is shown, with kernel, argument and distance. A failure that stays with every allocation fenced, and
shows nothing, does not come from such an access; accesses inside an allocation are not seen."""


def above(context: Context) -> How:
    return replace(context.how, fence=Fence("high"))


def below(context: Context) -> How:
    return replace(context.how, fence=Fence("low"))


def close(context: Context) -> How:
    return replace(context.how, fence=Fence("high", ALIGN))


def dumped(context: Context, edge: Literal["high", "low"] = "high") -> How:
    return replace(context.how.under(ABORTING), fence=Fence(edge), dump=True)


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
        f"""Memory against the upper of two fences: an access past its end, or after its free, is a fault at once.

{SHOWN}""",
        missing=needs_gpu_calls,
        how=above,
    ),
    Row(
        __name__,
        "fenced-dump",
        2.0,
        """Memory against the upper fence, and a core dump of the device when a kernel meets it.

A fence makes the device stop a kernel, but says only which launch failed. The dump has the instruction and its registers, so that
address, argument and distance are known, also where the access would have landed in another live buffer without the fence.""",
        missing=no_dump,
        how=dumped,
    ),
    Row(
        __name__,
        "low-fenced",
        COST,
        f"""Memory against the lower of two fences: an access before its start, or after its free, is a fault at once.

{SHOWN}""",
        missing=needs_gpu_calls,
        how=below,
    ),
    Row(
        __name__,
        "low-fenced-dump",
        2.0,
        """Memory against the lower fence, and a core dump of the device when a kernel meets it.

As with the upper fence: the dump has the instruction and its registers, so that address, argument and distance are known.""",
        missing=no_dump,
        how=partial(dumped, edge="low"),
    ),
    Row(
        __name__,
        "close-fenced",
        COST,
        """Memory against the upper fence at multiples of four bytes, so that almost no slack lies before the fence.

An access that lands in the few bytes which the API's alignment leaves behind a buffer meets the fence here. Kernels that load
vectors from the start of a buffer may need more alignment than this: a fault that is a misaligned access proves nothing.""",
        missing=needs_gpu_calls,
        how=close,
    ),
    Row(
        __name__,
        "parts-fenced",
        COST,
        """Each sub-buffer gets memory of its own, against the upper of two fences.

Fences stand around whole buffers, so an access that leaves one part and lands in the next meets none. Here it does, and is shown with
kernel, argument and distance. Made only where a plain run used such buffers by their parts alone, and these do not overlap: then
nothing else changes. That it shows nothing refutes nothing: accesses before the start of a part are not looked for.""",
        missing=no_parts,
        how=by_parts,
    ),
)
