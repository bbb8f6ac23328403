"""The call that a process died in."""

from __future__ import annotations

from gpudx.facts import Facts


def fatal_call(facts: Facts) -> int | None:
    """The innermost open call of the thread that a fatal signal reached, None if it was in none."""
    words = facts.trace.last_words
    if words is None:
        return None
    positions = facts.in_flight
    mine = positions[facts.trace.column("tid", positions) == words.tid]
    return int(mine[-1]) if len(mine) else None
