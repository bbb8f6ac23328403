"""Handles given to any call that name no live object of the right kind: the screen of two detectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import CallInfo, Facts
from gpudx.facts.objects import KINDS, MEMORY
from gpudx.facts.once import once

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
# Devices and platforms have no life of their own. Events that commands hand out are too many to follow; those that programs create
# (CUDA, HIP) are followed, but may come from another process.
CHECKED: dict[str, tuple[str, ...]] = {
    "handle:mem": (*MEMORY, "memory"),
    "handle:queue": ("queue",),
    "handle:context": ("context",),
    "handle:program": ("program",),
    "handle:kernel": ("kernel",),
    "handle:sampler": ("sampler",),
}
EVENT, EVENTS = "handle:event", ("event",)


@dataclass(frozen=True)
class Misused:
    """Calls of one kind whose parameter `field` is no live handle: their positions, values, and what they name or -1."""

    info: CallInfo
    field: str
    kinds: tuple[str, ...]
    position: I64
    value: U64
    row: I64
    dead: NDArray[np.bool_]  # the value named an object of the right kind before


def by_handle(facts: Facts) -> set[str]:
    """APIs that name everything by handles of their own; others take addresses, which may point into an object."""
    return {call.api for call in facts.trace.schema.doing("set_arg")}


@once
def misused(facts: Facts) -> list[Misused]:
    """All handle parameters of all calls; null handles are left to the detectors of errors."""
    found = []
    for info in facts.trace.calls_made:
        fields = [(n, kind) for n, kind in info.fields if kind in CHECKED and n != "result"]
        positions = facts.trace.select(info)
        found += [_check(facts, info, n, CHECKED[kind], positions) for n, kind in fields]
    return [one for one in (*found, *_dead_events(facts)) if one is not None]


def _dead_events(facts: Facts) -> Iterator[Misused | None]:
    handled = by_handle(facts)
    for info in facts.trace.calls_made:
        fields = [n for n, kind in info.fields if kind == EVENT and n != "result" and info.api not in handled]
        positions = facts.trace.select(info)
        for field in fields:
            found = _check(facts, info, field, EVENTS, positions)
            yield _of(found, np.flatnonzero(found.dead)) if found is not None and found.dead.any() else None


def _of(found: Misused, some: I64) -> Misused:
    columns = (found.position[some], found.value[some], found.row[some], found.dead[some])
    return Misused(found.info, found.field, found.kinds, *columns)


def _handles(facts: Facts, info: CallInfo, field: str, positions: I64) -> tuple[U64, I64]:
    """The handles in a field, and the latest lives they name."""
    sets = facts.set_args
    if field == "kernel" and info.does == "set_arg" and len(positions) == len(sets):
        return sets.kernel, sets.kernel_row  # the most frequent call of all: looked up already
    values = facts.trace.field(info, field, positions)
    return values, facts.objects.at(values, positions)


def _unjudged(facts: Facts, info: CallInfo, rows: I64, positions: I64) -> NDArray[np.bool_]:
    """Memory by address whose life is not known: nobody saw it being made, or the driver freed it although it was taken to be gone,
    so that something that was not recorded (a graph, another library) had made it again."""
    memory = np.append(facts.objects.table["kind"] == KINDS.index("memory"), False)[rows]
    unseen = np.append(facts.objects.table["born"] < 0, False)[rows]
    accepted = (facts.trace.column("status", positions) == 0) & (facts.trace.column("end", positions) != 0)
    return memory & (unseen | (accepted & (info.does in ("release", "free_later"))))


def _check(facts: Facts, info: CallInfo, field: str, kinds: tuple[str, ...], positions: I64) -> Misused | None:
    values, rows = _handles(facts, info, field, positions)
    table = facts.objects.table
    right = np.append(np.isin(table["kind"], [KINDS.index(k) for k in kinds]), False)[rows]
    alive = (np.append(table["gone"], -1)[rows] >= positions) | _unjudged(facts, info, rows, positions)
    wrong = np.flatnonzero((values != 0) & ~(right & alive))
    if not len(wrong):
        return None
    rows, right, alive = rows[wrong], right[wrong], alive[wrong]
    # The address of an object of another kind that is gone may belong to something new that was not recorded.
    rows = np.where(right | alive, rows, -1)
    return Misused(info, field, kinds, positions[wrong], values[wrong], rows, (rows >= 0) & ~alive)
