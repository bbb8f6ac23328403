"""Changes one thing about some calls: which buffer a transfer or a kernel uses, the direction of a copy, a row pitch, a number of bytes,
or the size of a launch.

If the program fails every time and passes with the change, that is what it gets wrong. If it still fails, this says nothing about other
calls, nor about other buffers and pitches. With a variant, another change is made.
"""

from __future__ import annotations

from gpudx.lab.experiments import UNCHECKED, Context, between_fences, needs_gpu_calls, tried
from gpudx.model.how import How

ID = "redirected"
COST = 1.0
CHANGES_PROGRAM = True
LARGER = "=grid"  # more threads may access memory that they should not
VARIABLE = "GPUDX_REDIRECT"  # native/core/what_if.h


def missing(context: Context) -> str | None:
    if lacking := needs_gpu_calls(context):
        return lacking
    return None if context.redirects else f"no transfer could be meant for another buffer, direction or row pitch, or {UNCHECKED}"


def variants(context: Context) -> tuple[str, ...]:
    return tuple(map(str, range(1, len(context.redirects) + 1))) or ("1",)


def how(context: Context) -> How:
    wish = context.redirects[int(context.variant or 1) - 1]
    how = tried(context.how).under({VARIABLE: wish})
    return between_fences(how, context.turn) if LARGER in wish else how


def did(context: Context) -> str:
    """ "clEnqueueReadBuffer=4=0:3>2": which calls, and what they use instead."""
    return context.redirects[int(context.variant or 1) - 1]


def changed(context: Context) -> str:
    """ "source and destination exchanged at clEnqueueCopyBuffer (call 9, app.c:12)"."""
    return context.redirected[int(context.variant or 1) - 1]
