"""Adds small random delays before launches, different ones in each run.

If the failure rate changes, timing matters. If it stays, timing may still matter: the delays are short.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "perturbed"
COST = 1.5
VARIABLE = "GPUDX_PERTURB"  # native/core/perturb.h


def missing(context: Context) -> str | None:
    return None if context.launches else "the program makes no launch to delay"


def how(context: Context) -> How:
    return context.how.under({VARIABLE: str(context.turn + 1)})
