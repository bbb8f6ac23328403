"""Under compute-sanitizer's memcheck: every access of a kernel is checked.

What it names is there. A clean report does not speak of accesses that stray into another live allocation.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._sanitizer import under, why_missing
from gpudx.model.how import How

ID = "memcheck"
COST = 3.0  # measured on small programs: 1.9, most of it the start of the tool


def missing(context: Context) -> str | None:
    return why_missing(context, ID)


def how(context: Context) -> How:
    return under(context, ID)
