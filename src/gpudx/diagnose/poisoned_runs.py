"""What a poisoned run had its pattern in, as an instrument of the case, and what the pattern cannot show.

A run in which nothing could be filled was not watched, whatever was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpudx.diagnose import readback
from gpudx.facts import Facts
from gpudx.facts.operations import done, field_of
from gpudx.facts.ranges import WRITE
from gpudx.model import Instrument
from gpudx.text import plural

NAME = "poison"
NOT_CHECKED = (
    "Reads of uninitialized memory whose results never came back to the program by a blocking copy of a plain range, "
    "or came back changed.",
)

MOST_PAIRS = 100_000  # of memory and launches that are looked at
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
        f"The program read it back in {plural(back, 'copy', 'copies')}.",
    ]
    why = readback.unseen(processes)
    blind = "" if all(_out_of_reach(one) for one in processes) else f"{BLIND}{f', and {why}' if why else ''}"
    gave = readback.digest(processes) if filled else ""
    return Instrument(NAME, "live" if filled else "not live", " ".join(words), blind=blind, gave=gave)


def _out_of_reach(facts: Facts) -> bool:
    """Was every piece of fresh memory written whole, by a copy, before a launch or a copy could read it? Then nothing can have
    been computed with the pattern. Only what is certain counts: one copy of all of it, whose end each launch waits for."""
    rows, launches = facts.poison.filled, facts.launches
    if facts.trace.gaps or facts.poison.missed or len(facts.graphs) or len(rows) * len(launches.position) > MOST_PAIRS:
        return False
    return facts.poison.count == len(rows) and -1 not in rows and all(_is_written_first(facts, row) for row in rows)


def _is_written_first(facts: Facts, row: int) -> bool:
    table, mine = facts.ranges.table, np.flatnonzero(facts.ranges.object == row)
    first, size, born = (int(facts.objects.table[name][row]) for name in ("handle", "size", "born"))
    sides = table[mine]
    whole = (sides["how"] == WRITE) & (sides["address"] == first) & (sides["size"] >= size) & (sides["height"] == 1)
    copies = done(facts.trace, np.asarray(sides["position"][whole], np.int64))
    later = facts.launches.position[facts.launches.position > born].tolist()
    if not len(copies):
        return not later and not len(mine)
    copy = int(copies[0])
    read_before = bool((sides["position"][sides["how"] != WRITE] < copy).any())
    return not read_before and all(_waits_for(facts, launch, copy) for launch in later)


def _waits_for(facts: Facts, launch: int, copy: int) -> bool:
    queues, contexts = field_of(facts.trace, "queue", np.array([launch, copy])), facts.trace.context[[launch, copy]]
    alike = queues[0] == queues[1] and contexts[0] == contexts[1]
    return copy < launch and (alike or facts.order.covered(int(queues[1]), int(contexts[1]), launch) > copy)
