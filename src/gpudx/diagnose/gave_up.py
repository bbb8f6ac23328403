"""What the recorder left undone because it would have taken too long, so that silence is not mistaken for an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpudx.facts import Facts
from gpudx.text import plural


def not_checked(processes: Sequence[Facts]) -> tuple[str, ...]:
    """A sentence for each kind."""
    found = sum((_found(one) for one in processes), Counter[str]())
    return tuple(f"{what} ({_times(count)})." for what, count in found.most_common())


def _times(count: int) -> str:
    return f"at least {plural(count, 'time')}" if count > 1 else "at least once"


def _found(facts: Facts) -> Counter[str]:
    """Times by sentence; each note has the count until then."""
    found = Counter[str]()
    for position in facts.trace.named("note_gave_up"):
        what, count = facts.trace.text(int(position)), facts.trace.record(int(position))["times"]
        found[what] = max(found[what], count)
    return found
