"""Decoding a number: which recorded thing is it? Exact matches first, and no guess where nothing matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.objects import MEMORY
from gpudx.model import Evidence

SMALL = 1 << 12  # below this, equality with a recorded size says nothing
MANY = 3  # name so many of the equal things


@dataclass(frozen=True)
class Origin:
    """What a value turned out to be. `text` completes "the value is ..."."""

    kind: str  # live, dead, size, offset, number, host, nothing
    text: str
    evidence: tuple[Evidence, ...]
    allocation: str | None = None
    size: int | None = None
    state: str | None = None


def origin_of(facts: Facts, value: int, position: int) -> Origin:
    """The first explanation that fits exactly: handle, size, offset or number passed before, host memory."""
    for look in (_handle, _size, _argument, _host):
        found = look(facts, value, position)
        if found:
            return found
    return Origin("nothing", "no handle, size or address that was recorded",
                  (Evidence(f"{value:#x} equals no handle, size, offset or argument that was recorded before", ()),))


def _handle(facts: Facts, value: int, position: int) -> Origin | None:
    row = int(facts.objects.at(np.array([value], np.uint64), np.array([position], np.int64))[0])
    if row < 0:
        return None
    died, label = int(facts.objects.table["died"][row]), facts.objects.label(row)
    size = int(facts.objects.table["size"][row]) or None
    if died >= position:
        kind = facts.objects.kind(row)
        if kind in (*MEMORY, "svm"):
            return Origin("live", f"{label}, which is alive", (Evidence(f"{value:#x} is {label}"),), label, size, "live")
        return Origin("foreign", f"the handle of {label}", (Evidence(f"{value:#x} is {label}, not memory", ()),), label, size, "live")
    text = f"the handle of {label}, which was released before (call {died + 1})"
    return Origin("dead", text, (Evidence(f"{label} was released by call {died + 1}", (died + 1,)),), label, size, "released")


def _size(facts: Facts, value: int, position: int) -> Origin | None:
    """A byte count: equal to the size of a memory object made before. The one in use nearest before comes first."""
    table = facts.objects.table
    rows = np.flatnonzero((table["size"] == value) & (table["born"] < position)) if value >= SMALL else []
    if not len(rows):
        return None
    row = _most_related(facts, rows, position)
    label = facts.objects.label(row)
    others = [facts.objects.label(int(r)) for r in rows if r != row]
    also = f" (also of {', '.join(others[:MANY])}{' and others' if len(others) > MANY else ''})" if others else ""
    born = int(table["born"][row])
    alive = "live" if int(table["died"][row]) >= position else "released"
    return Origin("size", f"the byte size of {label}", (
        Evidence(f"{value:#x} = {value} is exactly the size that call {born + 1} gave {label}{also}", (born + 1,)),
    ), label, value, alive)


def _most_related(facts: Facts, rows: np.typing.NDArray[np.int64], position: int) -> int:
    """Of equal sizes, the object that the same kernel already holds or that the last launches touched."""
    handles = {int(facts.objects.table["handle"][r]): int(r) for r in rows}
    sets = facts.set_args
    until = int(np.searchsorted(sets.position, position))
    kernel = facts.trace.record(position).get("kernel")
    recent = range(until - 1, max(until - 256, -1), -1)
    same_kernel = [i for i in recent if kernel is not None and int(sets.kernel[i]) == kernel]
    for row in (*same_kernel, *recent):
        if int(sets.value[row]) in handles:
            return handles[int(sets.value[row])]
    return int(rows[-1])


def _argument(facts: Facts, value: int, position: int) -> Origin | None:
    """A number that was itself passed as an argument shortly before."""
    sets = facts.set_args
    until = int(np.searchsorted(sets.position, position))
    rows = np.flatnonzero((sets.value[:until] == value) & (sets.size[:until] <= 8)) if value >= SMALL else []
    if not len(rows):
        return None
    row = int(rows[-1])
    where = facts.sites.at(int(sets.position[row]), argument=int(sets.index[row]), value=value)
    text = f"a number that was also passed as argument {where.argument} of kernel {where.kernel}"
    return Origin("number", text, (Evidence(f"call {where.number} passed {value:#x} as a plain value", (where.number,)),))


def _host(facts: Facts, value: int, position: int) -> Origin | None:
    kind = facts.symbols.kind(value)
    if kind is None:
        return None
    name = {"stack": "an address on the program's stack", "heap": "an address in the program's heap",
            "code": "an address of code"}.get(kind, "an address in host memory")
    return Origin("host", name, (Evidence(f"{value:#x} lies in {kind} memory of the process"),))
