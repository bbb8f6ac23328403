"""The runtime printed the address of a fault on the device, and ended the process.

The line names a page, and no kernel. The record has what the line lacks: which allocation the page belongs to or lies
behind, whether it was freed, and which launches were passed it and may still have been running.

Example:

    hipMalloc(&queries, rows * default_heads * head_dim * sizeof(float));
    gemm<<<grid, block>>>(queries, x, weights, rows, heads * head_dim, dim);     // the model has more heads
    // Memory access fault by GPU node-1 ... on address 0x7f5c28010000. Reason: Page not present or supervisor privilege.

Fix it where the size of the allocation is computed, or in the kernel's index; if the memory had been freed, by freeing it
after the last work that uses it.

Only the page is known: distances are reported as "at least". A launch is named where one alone, of those that may have been
running, was passed the memory, or where one alone was passed memory too small for its own numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import Suspect, suspect
from gpudx.detectors._other_device import devices, strangers
from gpudx.detectors._undersized import shortages
from gpudx.detectors._words import argument
from gpudx.facts import Facts, Fault
from gpudx.facts.allocated import allocation_of
from gpudx.facts.running import running_at
from gpudx.model import Access, Evidence, Finding, Site
from gpudx.text import capital, plural

ID = "device-fault-printed"
OUTSIDE, FREED, NULL, UNKNOWN = "out-of-bounds-access", "use-after-free", "null-pointer", "device-exception"
STRANGE = "wrong-device-pointer"
NOWHERE = "in no memory that was recorded"
SHOWN = 8
CERTAIN = "The driver printed the address of the fault, and no other launch was running."
PROBABLE = "The driver printed the address of the fault; that this launch made it is not shown."
ONE_OF = "The driver printed the address of the fault; which of the running launches made it is not known."
FARTHEST = 1 << 30  # beyond this, memory nearby says nothing


@dataclass(frozen=True)
class _Place:
    """Where the page lies: completes "the page is ...". `object` is the row that it is told by, -1 if none."""

    text: str
    cause: str
    object: int = -1


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the first fault."""
    if facts.messages.faults:
        yield located(facts, *facts.messages.faults[0])[0]


def located(facts: Facts, position: int, fault: Fault) -> tuple[Finding, str]:
    """A fault that was printed when the trace had come to `position`, and where its page lies ("64 KiB behind ...")."""
    rows = running_at(facts, position)
    short = shortages(facts, rows, facts.launches.done & ~np.isin(np.arange(len(facts.launches.position)), rows))
    suspects = [suspect(facts, row, short.get(row, ())) for row in rows.tolist()]
    place = _place(facts, fault, position, suspects)
    given = [s for s in suspects if place.object >= 0 and place.object in _given(facts, s.launch)]
    guilty = _guilty(given, place)
    place = _of_another(facts, guilty, place)
    site = _site(facts, guilty, place) if guilty else None
    certain = len(suspects) == 1 and site is not None
    finding = Finding(
        id=ID,
        severity="error",
        message=_message(fault, place, site, len(suspects)),
        evidence=tuple(_evidence(facts, fault, place, given, suspects)),
        site=site,
        others=tuple(_site(facts, s, place) for s in (given or suspects[::-1])[:SHOWN] if s is not guilty),
        causes=(place.cause,),
        allocation=allocation_of(facts, place.object, "freed" if place.cause == FREED else "live"),
        facts=(("cause", place.cause), ("kernel", site.kernel or "?" if site else "?")),
        certainty="observed",
        attribution="this" if certain else "probable" if site else "one of",
        because=CERTAIN if certain else PROBABLE if site else ONE_OF,
        access=Access(address=fault.address, by="kernel", seen_by="driver"),
    )
    return finding, place.text


# ---- where ----


def _place(facts: Facts, fault: Fault, position: int, suspects: list[Suspect]) -> _Place:
    if fault.address < fault.bytes:
        return _Place("that of a null pointer", NULL)
    fenced = _fenced(facts, fault)
    if fenced:
        return fenced
    inside = facts.memory.one(fault.address, position)
    if inside >= 0:
        return _inside(facts, fault, position, inside)
    near = [_beside(facts, fault, row) for row in _nearby(facts, fault, position, suspects)]
    return min(near, key=lambda pair: pair[0])[1] if near else _Place(NOWHERE, UNKNOWN)


def _fenced(facts: Facts, fault: Fault) -> _Place | None:
    """Of memory between fences the address itself tells which allocation was missed, also when it is freed."""
    block = facts.fences.at(fault.address)
    if block is None or block.object < 0:
        return None
    name, freed = facts.memory.describe(block.object), block.freed is not None
    if fault.address < block.address + block.size and block.address < fault.address + fault.bytes:
        was = f"where {name} was, which had been freed" if freed else f"that of {name}, which is live"
        return _Place(was, FREED if freed else UNKNOWN, block.object)
    place = _beside(facts, fault, block.object)[1]
    return replace(place, text=f"{place.text}, which had been freed", cause=FREED) if freed else place


def _inside(facts: Facts, fault: Fault, position: int, row: int) -> _Place:
    offset, name = facts.memory.offset(row, fault.address), facts.memory.describe(row)
    live = bool(facts.memory.live(np.array([row]), np.array([position]))[0])
    if live:
        return _Place(f"{offset:,} bytes into {name}, which is live", UNKNOWN, row)
    return _Place(f"{offset:,} bytes into {name}, which had been freed", FREED, row)


def _nearby(facts: Facts, fault: Fault, position: int, suspects: list[Suspect]) -> list[int]:
    """Memory next to the page that a launch which may have been running was given: it can have been missed."""
    given = {row for s in suspects for row in _given(facts, s.launch)}
    return [row for row in facts.memory.neighbours(fault.address, position) if row in given]


def _beside(facts: Facts, fault: Fault, row: int) -> tuple[int, _Place]:
    first, size = (int(facts.objects.table[name][row]) for name in ("handle", "size"))
    before = fault.address < first
    distance = first - fault.address - fault.bytes if before else fault.address - first - size
    if distance >= FARTHEST:
        return distance, _Place(NOWHERE, OUTSIDE)
    far = f"at least {plural(distance, 'byte')}" if distance > 0 else "right"
    side = "before the start of" if before else "past the end of"
    return distance, _Place(f"{far} {side} {facts.memory.describe(row)}", OUTSIDE, row)


def _of_another(facts: Facts, guilty: Suspect | None, place: _Place) -> _Place:
    """Live memory that is out of reach because it is another device's."""
    pointers, rows = facts.launches.pointers, strangers(facts) if guilty and place.cause == UNKNOWN else ()
    for row in rows:
        if guilty and pointers.launch[row] == guilty.launch and pointers.object[row] == place.object:
            return replace(place, text=f"{place.text} and of device {devices(facts, int(row))[0]}", cause=STRANGE)
    return place


# ---- who ----


def _given(facts: Facts, launch: int) -> set[int]:
    pointers = facts.launches.pointers
    return {int(pointers.object[row]) for row in pointers.of(launch) if pointers.object[row] >= 0}


def _guilty(given: list[Suspect], place: _Place) -> Suspect | None:
    """The only launch that was given the memory; else the first whose own numbers do not fit it."""
    if len(given) == 1:
        return given[0]
    odd = [s for s in given if s.object == place.object and s.weight]
    return odd[0] if odd else None


def _site(facts: Facts, one: Suspect, place: _Place) -> Site:
    pointers = facts.launches.pointers
    mine = [row for row in pointers.of(one.launch) if pointers.object[row] == place.object and place.object >= 0]
    index, value = (int(pointers.index[mine[0]]), int(pointers.value[mine[0]])) if mine else (None, None)
    return facts.sites.at(int(facts.launches.position[one.launch]), argument=index, value=value)


# ---- words ----


def _message(fault: Fault, place: _Place, site: Site | None, running: int) -> str:
    where = f"The device faulted at page {fault.address:#x}, {place.text}"
    if site:
        return f"{where}; launch {site.launch} of kernel {site.kernel} was passed it as argument {site.argument}."
    return f"{where}; {plural(running, 'launch', 'launches')} may have been running."


def _evidence(
    facts: Facts, fault: Fault, place: _Place, given: list[Suspect], suspects: list[Suspect]
) -> Iterator[Evidence]:
    yield Evidence(f"the runtime printed: a memory access fault on address {fault.address:#x}; reason: {fault.reason}")
    yield Evidence(f"the page is {place.text}")
    shown = given or suspects[::-1]
    for one in shown[:SHOWN]:
        odd = "; ".join(one.odd) or "nothing odd about its arguments was recorded"
        text = f"launch {one.launch + 1} of kernel {facts.launches.name(one.launch)} may have been running"
        told = f"{text}{_as(facts, one, place)}: {odd}"
        yield Evidence(told, (int(facts.launches.position[one.launch]) + 1,))
    if len(suspects) > len(shown[:SHOWN]):
        yield Evidence(f"{plural(len(suspects), 'launch', 'launches')} may have been running in all")


def _as(facts: Facts, one: Suspect, place: _Place) -> str:
    pointers = facts.launches.pointers
    mine = [row for row in pointers.of(one.launch) if place.object >= 0 and pointers.object[row] == place.object]
    if not mine:
        return ""
    name = argument(facts, int(facts.launches.kernel_row[one.launch]), int(pointers.index[mine[0]]))
    return f", with {capital(facts.objects.label(place.object)).lower()} as {name}"
