"""A wait of our own only after the launches of one kernel (`--wait-at KERNEL`), or after one launch by its number.

It narrows down where order or timing matters, once a wait after each launch made the failure go. That it goes names no cause: the
wait also slows the host down, and hides what it does not mend. A run in which nothing was waited for says nothing.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context
from gpudx.lab.experiments._sync import launches_named, no_wait, why_missing, with_waits
from gpudx.model.how import How

ID = "sync-after"
COST = 1.5
ASKED = True
missing, variants, without_effect = why_missing, launches_named, no_wait


def how(context: Context) -> How:
    return with_waits(context, "after")
