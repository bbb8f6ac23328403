"""The program under one of the checks of compute-sanitizer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpudx.errors import UserError
from gpudx.lab import sanitized
from gpudx.lab.experiments import NOT_CUDA, Context, Row
from gpudx.model.how import How

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
        """Under compute-sanitizer's memcheck: every access of a kernel is checked.

What it reports is real. A clean report says nothing about accesses that stray into another live allocation.""",
    ),
    _row(
        "initcheck",
        COST,
        """Under compute-sanitizer's initcheck: reads of global uninitialized memory are named.

What it reports is real. A clean report covers this run's data only.""",
    ),
    _row(
        "racecheck",
        COST,
        """Under compute-sanitizer's racecheck: accesses of shared memory are checked for hazards.

What it reports is real. A clean report says nothing about races in global memory.""",
    ),
    _row(
        "synccheck",
        COST,
        """Under compute-sanitizer's synccheck: barriers that not all threads reach are named.

What it reports is real. A clean report covers this run's data only.""",
    ),
)
