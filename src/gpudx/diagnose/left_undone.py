"""What the recorder left undone, with the reason, so that silence is not mistaken for an answer: work that would have taken too long,
and launches that a serialised run did not wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpudx.facts import Facts
from gpudx.text import plural


def not_checked(processes: Sequence[Facts]) -> tuple[str, ...]:
    """A sentence for each kind and reason."""
    return (*_not_serialised(processes), *_gave_up(processes))


def _gave_up(processes: Sequence[Facts]) -> Iterator[str]:
    for what, count in _counted(processes, "note_gave_up", "times"):
        yield f"{what} (at least {plural(count, 'time')})." if count > 1 else f"{what} (at least once)."


def _not_serialised(processes: Sequence[Facts]) -> Iterator[str]:
    for why, count in _counted(processes, "note_not_serialised", "launches"):
        yield f"At least {plural(count, 'launch', 'launches')} under --serialise had no wait behind: {why}."


def _counted(processes: Sequence[Facts], note: str, field: str) -> list[tuple[str, int]]:
    """Texts of such notes and how often, most frequent first. Each note has the count until then."""
    total = Counter[str]()
    for facts in processes:
        found = Counter[str]()
        for position in facts.trace.named(note):
            text, count = facts.trace.text(int(position)), facts.trace.record(int(position))[field]
            found[text] = max(found[text], count)
        total += found
    return total.most_common()
