"""Settings of memory arguments whose value names no live memory object: the screen of two detectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._groups import groups
from gpudx.detectors._values import Decoder, Origin
from gpudx.facts import Facts
from gpudx.facts.objects import KINDS, MEMORY

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


def handle_as_pointer(facts: Facts) -> Bool:
    """Settings whose place of the value *is* a live memory object: the object was passed instead of its address."""
    sets = facts.set_args
    given = (sets.pointer != 0) & ~sets.svm
    given[given] = is_memory(facts, facts.objects.live_at(sets.pointer[given], sets.position[given]))
    return given


def suspects(facts: Facts) -> Iterator[Suspect]:
    """The worst setting of each argument of each kernel function, at most MOST of them."""
    rows = np.flatnonzero(_not_memory(facts) & ~handle_as_pointer(facts))
    sets, decoder = facts.set_args, Decoder(facts)
    for part in groups(rows, facts.kernels.functions(sets.kernel_row[rows]), sets.index[rows]):
        yield _worst(facts, decoder, part)


def _not_memory(facts: Facts) -> Bool:
    sets = facts.set_args
    eight = (sets.size == 8) & (sets.value != 0) & (sets.pointer != 0) & ~sets.svm
    declared = sets.declared.get("memory", sets.kernel_row, sets.index)
    unknown = ~sets.declared.get("known", sets.kernel_row, sets.index)
    wrong = eight & declared
    wrong[wrong] = ~is_memory(facts, facts.objects.live_at(sets.value[wrong], sets.position[wrong]))
    undeclared = eight & unknown
    undeclared[undeclared] = _dead_memory(facts, np.flatnonzero(undeclared))
    return wrong | undeclared


def _dead_memory(facts: Facts, rows: I64) -> Bool:
    """Nothing is declared, but the value is the handle of memory that is gone: no number has this value by chance."""
    sets, objects = facts.set_args, facts.objects
    found = objects.at(sets.value[rows], sets.position[rows])
    gone = objects.live_at(sets.value[rows], sets.position[rows]) < 0
    return gone & is_memory(facts, found)


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
