"""Copies and fills that may have been passed elements instead of bytes, and how many bytes that would be.

Only where the side that is written is known to have room for so many: more bytes may otherwise replace what the program compares with.
And where the larger number fills a side, or a kernel is passed the smaller one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.given_memory import uses
from gpudx.facts.once import once
from gpudx.trace import CallInfo

MOST_CALLS = 64  # of one line that are looked at
WORDS = ("size", "count", "width")  # parameters that say bytes; the last: of each row
ELEMENTS = (4, 8, 2, 16)  # bytes, where no kernel says what the memory consists of
FULL, PASSED = range(2)  # how plausible a number is: it fills a side; a kernel is passed the number of elements


@dataclass(frozen=True)
class Size:
    """`name`: the parameter; `given`: as it is passed; `wanted`: bytes, if those were elements of `element` bytes."""

    name: str
    given: int
    element: int
    rank: int

    @property
    def wanted(self) -> int:
        return self.given * self.element


def sizes(facts: Facts, info: CallInfo, positions: Iterable[int]) -> Iterator[Size]:
    """For calls of one line."""
    word = next((name for name in WORDS if (name, "number") in info.fields), None)
    if word is None or f"{word}*" in info.writes or "3D" in info.name:  # of fills with wider values it is a number of those
        return
    found: dict[tuple[int, int], Size] = {}
    for position in list(positions)[:MOST_CALLS]:
        for one in _of_call(facts, position, word):
            found.setdefault((one.given, one.element), one)
    yield from found.values()


def _of_call(facts: Facts, position: int, name: str) -> Iterator[Size]:
    given = facts.trace.record(position)[name]
    rows, ranges = facts.ranges.at(position), facts.ranges
    if ((ranges.table["how"][rows] == WRITE) & (ranges.object[rows] < 0)).any():
        return
    sides = [row for row in rows.tolist() if ranges.object[row] >= 0]
    rooms = [_row(facts, row) if name == "width" else _room(facts, row) for row in (rows.tolist() if name == "width" else sides)]
    memory = [int(ranges.object[row]) for row in sides]
    for element in _elements(facts, memory):
        if rooms and 0 < given * element <= min(rooms):
            if given * element in rooms:
                yield Size(name, given, element, FULL)
            elif given in _passed_with(facts, tuple(memory)):
                yield Size(name, given, element, PASSED)


def _row(facts: Facts, row: int) -> int:
    """Bytes from the start of a row to the next one."""
    return int(facts.ranges.table["pitch"][row])


def _room(facts: Facts, row: int) -> int:
    """Bytes from where a side begins to the end of its memory."""
    table, obj = facts.objects.table, int(facts.ranges.object[row])
    return int(table["handle"][obj]) + int(table["size"][obj]) - int(facts.ranges.table["address"][row])


def _elements(facts: Facts, memory: list[int]) -> tuple[int, ...]:
    declared = [value["declared"] for obj in memory for value in _values(facts, obj) if value["object"] == obj]
    known = dict.fromkeys(one.element for one in declared if one is not None and one.element and one.element > 1)
    return tuple(known) or ELEMENTS


def _passed_with(facts: Facts, memory: tuple[int, ...]) -> set[int]:
    """Integers that kernels are passed beside this memory."""
    return {
        int.from_bytes(value["bytes"], "little")
        for obj in memory
        for value in _values(facts, obj)
        if value["object"] < 0 and value["size"] in (4, 8)
    }


def _values(facts: Facts, obj: int) -> list[dict[str, Any]]:
    return _by_object(facts).get(obj, [])


@once
def _by_object(facts: Facts) -> dict[int, list[dict[str, Any]]]:
    """For each memory, the values of the first launch of each kernel that was passed it."""
    launches, table = facts.launches, uses(facts)
    table = table[(table["argument"] >= 0) & ~table["inside"]]
    rows = np.searchsorted(launches.position, table["position"])
    functions = facts.kernels.functions(launches.kernel_row[rows]) if len(rows) else rows
    found: dict[int, list[dict[str, Any]]] = {}
    seen = set()
    for obj, row, function in zip(table["object"].tolist(), rows.tolist(), functions.tolist(), strict=True):
        if (obj, function) not in seen:
            seen.add((obj, function))
            found.setdefault(obj, []).extend(launches.values(row))
    return found
