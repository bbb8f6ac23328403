"""A recorded allocation as findings carry it: size, state, and the calls that made and freed it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts._backend import backend_modules
from gpudx.model import Allocation

GONE = ("freed", "released")
FREED = ("device", "pitched", "managed", "async")  # families of memory that a device uses and a program frees


def allocation_of(
    facts: Facts, row: int, state: str = "live", *, needed: int | None = None, whole: int | None = None
) -> Allocation | None:
    """The allocation in a row of Objects; None for a row that is none (-1)."""
    if row < 0:
        return None
    table = facts.objects.table
    born, died = (int(table[name][row]) for name in ("born", "died"))
    return Allocation(
        id=facts.objects.label(row),
        size=int(table["size"][row]) or None,
        state=state,
        address=int(table["handle"][row]) or None,
        made=facts.sites.at(born) if 0 <= born < len(facts.trace) else None,
        freed=facts.sites.at(died) if state in GONE and 0 <= died < len(facts.trace) else None,
        needed=needed,
        whole=whole,
    )


def freed_before(facts: Facts, number: int) -> list[int]:
    """Rows of device memory that was freed before call `number`."""
    gone = facts.objects.table["gone"]
    return [int(row) for row in facts.memory.rows if 0 <= gone[row] < number - 1 and facts.objects.family(row) in FREED]


@dataclass(frozen=True)
class Candidate:
    """Memory that a launch may have missed: its row of Objects, the argument it was passed as (None: none), and which of the calls that
    allocate such memory made it, from 1."""

    object: int
    argument: int | None
    nth: int


MOST_CANDIDATES = 6


def missable(facts: Facts, launch: int) -> list[Candidate]:
    """What a launch (a row of Launches) was passed, in the order of its arguments, then other memory that was there; the first few."""
    roomy = {name for module in backend_modules("room") for name in module.ROOMY}
    calls = np.array([call.name in roomy for call in facts.trace.schema.calls])
    made, position = np.flatnonzero(calls[facts.trace.call]), int(facts.launches.position[launch])
    pointers, table = facts.launches.pointers, facts.objects.table
    passed = {int(pointers.object[row]): int(pointers.index[row]) for row in pointers.of(launch)[::-1] if pointers.object[row] >= 0}
    live = facts.memory.rows[facts.memory.live(facts.memory.rows, np.full(len(facts.memory.rows), position))]
    rows = sorted((int(row) for row in live if table["born"][row] in made), key=lambda row: (passed.get(row, 1 << 16), row))
    return [
        Candidate(row, passed.get(row), int(np.searchsorted(made, int(table["born"][row]))) + 1) for row in rows[:MOST_CANDIDATES]
    ]
