"""Under compute-sanitizer's synccheck: barriers that not all threads reach are named.

What it names is there. A clean report speaks of this run's data only.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._sanitizer import under, why_missing
from gpudx.model.how import How

ID = "synccheck"
COST = 3.0  # measured on small programs: 1.9, most of it the start of the tool


def missing(context: Context) -> str | None:
    return why_missing(context, ID)


def how(context: Context) -> How:
    return under(context, ID)
