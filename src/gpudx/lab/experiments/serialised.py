"""Waits after each launch, so that no two operations overlap on a queue.

If the failure goes away, it depends on order or timing. This names no cause: the wait also slows the host down, and hides the failure
without fixing it. If it stays, it does not come from overlapping launches.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "serialised"
COST = 1.5
MITIGATES = True


def missing(context: Context) -> str | None:
    return None if context.launches else "the program makes no launch to wait for"


def how(context: Context) -> How:
    return replace(context.how, serialise=True)
