"""The second of two operations that nothing orders waits for the first, by an event of ours on the device.

Only these two are put in order, once, and no thread of the program waits. A failure that goes came from this pair or from the
time that the wait takes; one that stays may come from other pairs, or from the same two calls later on, so it refutes nothing.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.lab.experiments._order import EDGE, FIRST, SECOND, not_done, under, waited, why_missing
from gpudx.model.how import How

ID = "edge"
COST = 1.2
missing = why_missing
did = waited


def how(context: Context) -> How:
    return under(context, EDGE)


def without_effect(context: Context, seen: Seen) -> str | None:
    return not_done(seen, FIRST | SECOND)
