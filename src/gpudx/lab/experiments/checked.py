"""OpenCL kernels check themselves on the program's own device. What they report is there; kernels that could not be rewritten, and
programs from binaries, run as they are: a clean run says nothing about these."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gpudx.errors import UserError
from gpudx.lab import kernel_checked
from gpudx.lab.experiments import Context, Row, needs_launch
from gpudx.model.how import How

COST = 3.0
REAL = re.compile(r"\b(?:float|double|half)\d*\b|^\s*#\s*include\b|\d\.\d*|\.\d", re.MULTILINE)


def why_missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    try:
        kernel_checked.wanted("opencl")
    except UserError as error:
        return str(error)
    return needs_launch(context)


def no_stuck_kernel(context: Context) -> str | None:
    return why_missing(context) or (None if context.stuck else "no kernel is known to hang")


def no_real_numbers(context: Context) -> str | None:
    """Without floating-point numbers there is no NaN. A header that a source includes may have some."""
    texts = [f"{source} {options}" for source, options in context.sources]
    real = not texts or any(REAL.search(text) for text in texts)
    return why_missing(context) or (None if real else "no kernel computes with floating-point numbers")


def with_checks(context: Context, checks: str) -> How:
    """Where buffers work on the program's own memory, an access outside may come of that memory: the heap is logged as well."""
    return replace(context.how, kernel_checks=kernel_checked.wanted(checks), heap=context.on_host)


def of_stuck_kernel(context: Context) -> How:
    """Others may compute for long and come to an end. Launches wait for each other, so that what one reported is kept although the next
    one, which may use what the first left undone, never ends."""
    return replace(context.how, kernel_checks=kernel_checked.wanted("loops,barriers,bounds", context.stuck), serialise=True)


def _row(name: str, checks: str, text: str, missing: Callable[[Context], str | None] = why_missing) -> Row:
    return Row(__name__, name, COST, text, missing=missing, how=partial(with_checks, checks=checks))


ROWS = (
    _row(
        "checked",
        "opencl",
        """OpenCL kernels check their own accesses, races, barriers and arithmetic, on the program's own device.

What they report is real, with source line, work-item, argument and distance. Kernels that could not be rewritten, and programs from
binaries, run as they are: a clean run says nothing about these.""",
    ),
    Row(
        __name__,
        "checked-loops",
        COST,
        """The kernel that hangs counts the steps of its loops and leaves one that does not end.

The named loop took millions of steps in the kernel that had not ended. A loop that waits for another work-item looks the same as one
that computes for very long.""",
        missing=no_stuck_kernel,
        how=of_stuck_kernel,
    ),
    _row(
        "checked-numbers",
        "nan,div,bounds",
        """OpenCL kernels report the first NaN that they compute, and divisions by zero.

The first launch that makes a NaN is where it comes from. This does not show that the program fails because of it: some programs compute
NaN on purpose.""",
        no_real_numbers,
    ),
)
