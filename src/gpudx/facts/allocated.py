"""A recorded allocation as findings carry it: size, state, and the calls that made and freed it."""

from __future__ import annotations

from gpudx.facts import Facts
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
