"""Handles given to any call that name no live object of the right kind: the screen of two detectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.objects import KINDS, MEMORY
from gpudx.trace import CallInfo

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
# Devices and platforms have no life of their own, and events are too many to follow.
CHECKED: dict[str, tuple[str, ...]] = {
    "handle:mem": MEMORY,
    "handle:queue": ("queue",),
    "handle:context": ("context",),
    "handle:program": ("program",),
    "handle:kernel": ("kernel",),
    "handle:sampler": ("sampler",),
}


@dataclass(frozen=True)
class Misused:
    """Calls of one kind whose parameter `field` is no live handle: their positions, values, and latest lives or -1."""

    info: CallInfo
    field: str
    kinds: tuple[str, ...]
    position: I64
    value: U64
    row: I64
    dead: NDArray[np.bool_]  # the value named an object before


def misused(facts: Facts) -> Iterator[Misused]:
    """All handle parameters of all calls; null handles are left to the detectors of errors."""
    for info in facts.trace.schema.calls:
        fields = [(n, kind) for n, kind in info.fields if kind in CHECKED and n != "result"]
        positions = facts.trace.select(info) if fields else np.zeros(0, np.int64)
        if len(positions):
            yield from (found for n, kind in fields if (found := _check(facts, info, n, CHECKED[kind], positions)))


def _check(facts: Facts, info: CallInfo, field: str, kinds: tuple[str, ...], positions: I64) -> Misused | None:
    values = facts.trace.field(info, field, positions)
    rows = facts.objects.at(values, positions)
    table = facts.objects.table
    right = np.append(np.isin(table["kind"], [KINDS.index(k) for k in kinds]), False)
    alive = np.append(table["gone"], -1)[rows] >= positions
    wrong = np.flatnonzero((values != 0) & ~(right[rows] & alive))
    if not len(wrong):
        return None
    rows, alive = rows[wrong], alive[wrong]
    return Misused(info, field, kinds, positions[wrong], values[wrong], rows, (rows >= 0) & ~alive)
