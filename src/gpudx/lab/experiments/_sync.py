"""What the experiments with waits at some launches share."""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.lab.how import SERIALISE, How


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
