"""What the experiments at the two calls of an order finding share."""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.model.how import How

HOLD, EDGE = "GPUDX_HOLD", "GPUDX_EDGE"  # native/core/sites.h
HELD, FIRST, SECOND = 1, 2, 4  # bits of a note_at_site


def why_missing(context: Context) -> str | None:
    return None if context.pair else "the record names no two operations without an order, or they cannot be counted"


def under(context: Context, *names: str) -> How:
    asked = dict(zip((HOLD, EDGE), context.pair or (), strict=False))
    return context.how.under({name: asked[name] for name in names})


def not_done(seen: Seen, wanted: int) -> str | None:
    """A run in which the calls never came, or could not be touched, is a plain one."""
    if any(done & wanted == wanted for done in seen.done_at):
        return None
    return "; ".join(seen.not_done) or "the calls that were named did not come"


def late(context: Context) -> str:
    """ "add no. 1 began 300 ms late"."""
    site, _, milliseconds = context.pair[0].rpartition(":") if context.pair else ("", "", "")
    return f"{_called(site)} began {milliseconds} ms late"


def waited(context: Context) -> str:
    first, _, second = context.pair[1].partition(">") if context.pair else ("", "", "")
    return f"{_called(second)} waited for {_called(first)}"


def _called(site: str) -> str:
    name, _, number = site.rpartition(":")
    return f"{name} no. {number}"
