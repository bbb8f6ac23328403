"""Settings of memory arguments whose value names no live memory object: the screen of two detectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._groups import groups
from gpudx.detectors._values import Decoder, Origin
from gpudx.facts import Facts
from gpudx.facts.objects import KINDS, MEMORY
from gpudx.facts.once import once

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
MOST_VALUES = 8  # different values of one argument that are looked at
RANK = ("small", "size", "offset", "number", "dead", "foreign", "host", "unmapped", "heap", "live")


@dataclass(frozen=True)
class Suspect:
    """One argument of one kernel that was given something else than memory. `row` is a row of SetArgs."""

    row: int
    origin: Origin
    count: int
    failed: bool
    in_flight: bool


def is_memory(facts: Facts, rows: I64) -> Bool:
    """Which rows of Objects are memory objects; -1 is not."""
    memory = np.isin(facts.objects.table["kind"], [KINDS.index(k) for k in MEMORY])
    return np.append(memory, False)[rows]


@once
def handle_as_pointer(facts: Facts) -> I64:
    """Settings whose place of the value *is* a live memory object: the object was passed instead of its address."""
    sets, handles = facts.set_args, facts.objects.table["handle"][facts.objects.rows_of(*MEMORY)]
    if not len(handles):
        return np.zeros(0, np.int64)
    rows = np.flatnonzero((sets.pointer >= handles.min()) & (sets.pointer <= handles.max()))
    rows = rows[~sets.svm[rows]]
    return rows[is_memory(facts, facts.objects.live_at(sets.pointer[rows], sets.position[rows]))]


@once
def suspects(facts: Facts) -> list[Suspect]:
    """The worst setting of each argument of each kernel function, at most MOST of them."""
    sets, decoder = facts.set_args, Decoder(facts)
    itself = np.zeros(len(sets), bool)
    itself[handle_as_pointer(facts)] = True
    rows = _not_memory(facts)
    rows = rows[~itself[rows]]
    parts = groups(rows, facts.kernels.functions(sets.kernel_row[rows]), sets.index[rows])
    return [_worst(facts, decoder, part) for part in parts]


def _not_memory(facts: Facts) -> I64:
    """Settings of 8 bytes that name no live memory, where the kernel declares memory."""
    sets, known = facts.set_args, facts.set_args.declares("known")
    rows = np.flatnonzero(sets.declares("memory") | ~known)
    rows = rows[(sets.size[rows] == 8) & (sets.value[rows] != 0) & (sets.pointer[rows] != 0)]
    rows = rows[~is_memory(facts, facts.objects.live_at(sets.value[rows], sets.position[rows]))]
    rows = rows[~sets.svm[rows]]
    if facts.misses_calls:  # what the driver took may be memory whose creation is not in the record
        rows = rows[~sets.done[rows] | (sets.status[rows] != 0)]
    return rows[known[rows] | _dead_memory(facts, rows)]


def _dead_memory(facts: Facts, rows: I64) -> Bool:
    """Where nothing is declared, the handle of memory that is gone: no number has this value by chance."""
    sets = facts.set_args
    return is_memory(facts, facts.objects.at(sets.value[rows], sets.position[rows]))


def _worst(facts: Facts, decoder: Decoder, part: I64) -> Suspect:
    sets = facts.set_args
    values, first = np.unique(sets.value[part], return_index=True)
    chosen = [_first_of(facts, part[sets.value[part] == values[i]]) for i in np.argsort(first)[:MOST_VALUES]]
    origins = [(row, decoder.origin(int(sets.value[row]), int(sets.position[row]))) for row in chosen]
    row, origin = min(origins, key=lambda pair: (bool(sets.done[pair[0]]), RANK.index(pair[1].kind)))
    failed = int(sets.status[row]) != 0
    return Suspect(row, origin, len(part), failed, not sets.done[row])


def _first_of(facts: Facts, rows: I64) -> int:
    """The one that never returned, else the first that was refused, else the first."""
    sets = facts.set_args
    for mask in (~sets.done[rows], sets.status[rows] != 0):
        if mask.any():
            return int(rows[mask][0])
    return int(rows[0])
