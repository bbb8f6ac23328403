"""The first of two operations that nothing orders begins late, on the device: the second overtakes it.

Only this one operation is held, and the program's threads never wait for it. An outcome that changes says that something
depends on when it runs; that the missing order is what it depends on is said by held-edge. One that stays says only that
this program's result, exit status and output do not show it: it refutes nothing. The pair is that of the first finding.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.lab.experiments._order import HELD, HOLD, late, not_done, under, why_missing
from gpudx.model.how import How

ID = "held"
COST = 1.5
OUTPUT_COUNTS = True
missing = why_missing
did = late


def how(context: Context) -> How:
    return under(context, HOLD)


def without_effect(context: Context, seen: Seen) -> str | None:
    return not_done(seen, HELD)
