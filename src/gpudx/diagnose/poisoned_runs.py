"""What a poisoned run had its pattern in, as an instrument of the case, and what the pattern cannot show.

A run in which nothing could be filled was not watched, whatever was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpudx.facts import Facts
from gpudx.model import Instrument
from gpudx.words import plural

NAME = "poison"
NOT_CHECKED = (
    "Reads of memory that nobody wrote whose results never came back to the program by a blocking copy of a plain range, "
    "or came back changed.",
)

BLIND = "a pattern that was computed with no longer looks like one"


def instrument(pattern: str, processes: Sequence[Facts]) -> Instrument:
    """The pattern as an instrument: live if at least one piece of memory was filled."""
    filled = sum(one.poison.count for one in processes)
    missed: Counter[str] = sum((one.poison.missed for one in processes), Counter())
    if not filled and not missed:
        return Instrument(NAME, "not live", "No memory was filled: none was allocated fresh in the recorded processes.")
    back = sum(len(one.poison.back) for one in processes)
    without = ", ".join(f"{count:,} ({why})" for why, count in missed.most_common())
    words = [
        f"Filled {filled:,} of {plural(filled + missed.total(), 'fresh allocation')} with the pattern {pattern}"
        f"{f'; not filled: {without}' if without else ''}.",
        f"It came back in {plural(back, 'reading')} of the program's.",
    ]
    return Instrument(NAME, "live" if filled else "not live", " ".join(words), blind=BLIND)
