"""Launches that a serialised run did not wait for, with the reason: what they did is told as in any other run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpudx.facts import Facts
from gpudx.words import plural


def not_checked(processes: Sequence[Facts]) -> tuple[str, ...]:
    """A sentence for each reason."""
    missed: Counter[str] = Counter()
    for one in processes:
        note = one.trace.schema.by_name("note_not_serialised")
        missed.update(one.trace.text(int(p)) for p in (one.trace.select(note) if note is not None else ()))
    return tuple(
        f"{plural(count, 'launch', 'launches')} under --serialise without a wait behind it: {why}."
        for why, count in missed.most_common()
    )
