"""A wait of our own only before the launches of one kernel (`--wait-at KERNEL`), or before one launch by its number.

It narrows down where order or timing matters, once a wait after each launch made the failure go. That it goes names no cause: the
wait also slows the host down, and hides what it does not mend. A run in which nothing was waited for says nothing.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.lab.experiments._sync import no_wait, why_missing, with_waits
from gpudx.lab.how import How

ID = "sync-before"
COST = 1.5
ASKED = True


def missing(context: Context) -> str | None:
    return why_missing(context)


def variants(context: Context) -> tuple[str, ...]:
    return context.asked.launches


def how(context: Context) -> How:
    return with_waits(context, "before")


def without_effect(context: Context, seen: Seen) -> str | None:
    return no_wait(context, seen)
