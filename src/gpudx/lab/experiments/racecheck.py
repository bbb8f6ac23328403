"""Under compute-sanitizer's racecheck: accesses of shared memory are checked for hazards.

What it names is there. A clean report does not speak of races in global memory.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._sanitizer import under, why_missing
from gpudx.model.how import How

ID = "racecheck"
COST = 3.0  # measured on small programs: 1.9, most of it the start of the tool


def missing(context: Context) -> str | None:
    return why_missing(context, ID)


def how(context: Context) -> How:
    return under(context, ID)
