"""Launches that a serialised run did not wait for, with the reason: what they did is told as in any other run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpudx.facts import Facts
from gpudx.text import plural


def not_checked(processes: Sequence[Facts]) -> tuple[str, ...]:
    """A sentence for each reason."""
    missed = sum((_missed(one) for one in processes), Counter[str]())
    return tuple(
        f"At least {plural(count, 'launch', 'launches')} under --serialise had no wait behind: {why}."
        for why, count in missed.most_common()
    )


def _missed(facts: Facts) -> Counter[str]:
    """Launches by reason; each note has the count until then."""
    found = Counter[str]()
    for position in facts.trace.named("note_not_serialised"):
        why, count = facts.trace.text(int(position)), facts.trace.record(int(position))["launches"]
        found[why] = max(found[why], count)
    return found
