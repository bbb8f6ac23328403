"""As held, and the second operation waits for the first: the same delay, with the order that was missing.

It is compared with the runs under held. If what the delay alone changed is gone, the order of these two operations decides.
If it stays, the program depends on the delay in another way as well, and nothing follows.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.lab.experiments._order import EDGE, FIRST, HELD, HOLD, SECOND, not_done, under, waited, why_missing
from gpudx.model.how import How

ID = "held-edge"
COST = 1.5
AGAINST = "held"
OUTPUT_COUNTS = True
missing = why_missing
did = waited


def how(context: Context) -> How:
    return under(context, HOLD, EDGE)


def without_effect(context: Context, seen: Seen) -> str | None:
    return not_done(seen, HELD | FIRST | SECOND)
