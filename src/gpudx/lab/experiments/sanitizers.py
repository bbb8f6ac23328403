"""The program under one of the checks of compute-sanitizer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpudx.errors import UserError
from gpudx.lab import sanitized
from gpudx.lab.experiments import Context, Row
from gpudx.model.how import How
from gpudx.model.investigation import NOT_CUDA

COST = 3.0  # measured on small programs: 1.9, most of it the start of the tool


def why_missing(context: Context, check: str) -> str | None:
    """Not this API, or not this tool: never "clean"."""
    if "cuda" not in context.apis:
        return NOT_CUDA
    try:
        sanitized.find(check)
    except UserError as error:
        return str(error)
    return None


def under(context: Context, check: str) -> How:
    return replace(context.how, sanitizer=sanitized.find(check))


def _row(check: str, cost: float, text: str) -> Row:
    return Row(__name__, check, cost, text, missing=partial(why_missing, check=check), how=partial(under, check=check))


ROWS = (
    _row(
        "memcheck",
        COST,
        """Runs under compute-sanitizer's memcheck, which checks every access of a kernel.

What it reports is real. A clean report does not exclude accesses that stray into another live allocation.""",
    ),
    _row(
        "initcheck",
        COST,
        """Runs under compute-sanitizer's initcheck, which finds reads of uninitialized global memory.

What it reports is real. A clean report covers this run's data only.""",
    ),
    _row(
        "racecheck",
        COST,
        """Runs under compute-sanitizer's racecheck, which finds races in shared memory.

What it reports is real. A clean report does not exclude races in global memory.""",
    ),
    _row(
        "synccheck",
        COST,
        """Runs under compute-sanitizer's synccheck, which finds barriers that not all threads reach.

What it reports is real. A clean report covers this run's data only.""",
    ),
)
