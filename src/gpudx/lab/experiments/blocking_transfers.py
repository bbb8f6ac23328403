"""Transfers that normally return early are complete when their call returns.

If the failure goes away, the program used or freed host memory too early, work on the device did not wait for a transfer, or the
timing changed; the trace tells these apart. If it stays, no transfer was used too early. With a variant, only the transfers of one
line complete in their call.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.model.how import How

ID = "blocking-transfers"
COST = 1.2
VARIABLE = "GPUDX_BLOCKING_TRANSFERS"  # native/core/transfers.h
WAITED = 8  # bit of a note_at_site
MOST = 6  # lines that are tried by themselves


def missing(context: Context) -> str | None:
    return None if context.transfers else "the program makes no transfer that returns before it is complete"


def variants(context: Context) -> tuple[str, ...]:
    """All transfers at once first; then line by line, where there are several."""
    lines = [str(number) for number, ranges in enumerate(context.transfers[:MOST], 1) if ranges]
    return ("", *lines) if len(context.transfers) > 1 else ("",)


def how(context: Context) -> How:
    wanted = context.transfers[int(context.variant) - 1] if context.variant else "all"
    return context.how.under({VARIABLE: wanted})


def without_effect(context: Context, seen: Seen) -> str | None:
    if any(done & WAITED for done in seen.done_at):
        return None
    return "; ".join(seen.not_done) or "the program did not make these transfers"
