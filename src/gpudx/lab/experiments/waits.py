"""Waits before or after some launches only (`--wait-at KERNEL`)."""

from __future__ import annotations

from functools import partial

from gpudx.lab.experiments import Context, Row, Seen
from gpudx.lab.how import SERIALISE
from gpudx.model.how import How


def why_missing(context: Context) -> str | None:
    if not context.asked.wait_at:
        return "--wait-at KERNEL was not given"
    return None if context.launches else "the program makes no launch to wait for"


def launches_named(context: Context) -> tuple[str, ...]:
    return context.asked.launches


def with_waits(context: Context, side: str) -> How:
    return context.how.under({SERIALISE: f"{side}:{context.variant}"})


def no_wait(context: Context, seen: Seen) -> str | None:
    """A name that no kernel has changes nothing, and such a run is a plain one."""
    return None if seen.own_waits else f"no launch of {context.variant} was waited for"


def _row(side: str) -> Row:
    return Row(
        __name__,
        f"sync-{side}",
        1.5,
        f"""Waits only {side} the launches of one kernel (`--wait-at KERNEL`), or {side} one launch by its number.

This narrows down where order or timing matters, once a wait after each launch made the failure go away. It names no cause: the wait also
slows the host down, and hides the failure without fixing it. A run without such a wait does not count.""",
        missing=why_missing,
        how=partial(with_waits, side=side),
        variants=launches_named,
        without_effect=no_wait,
        ASKED=True,
    )


ROWS = (_row("after"), _row("before"))
