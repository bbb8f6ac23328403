"""Each part of a buffer is memory of its own, against the upper of two fences.

Fences stand around whole buffers, so an access that leaves one part and lands in the next meets none. Here it does, and is shown with
kernel, argument and distance. Made only where a plain run used such buffers by their parts alone, and these do not overlap: then
nothing else changes. That it shows nothing refutes nothing: accesses before the start of a part are not looked for.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.model.how import Fence, How

ID = "parts-fenced"
COST = 1.5
VARIABLE = "GPUDX_PARTS"  # native/opencl/ranges.c


def missing(context: Context) -> str | None:
    return None if context.parts else "no buffer is used by parts alone, which do not overlap"


def how(context: Context) -> How:
    return replace(context.how.under({VARIABLE: "1"}), fence=Fence("high"))
