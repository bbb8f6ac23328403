"""Launches whose own numbers lead from one of their pointers to an address: pointer + number x size of an element.

An address far from all memory fits such a sum by chance once in billions, so it tells launches apart that ran at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.pointers import Pointers

ELEMENTS = (4, 8, 2, 1, 16)
LEAST = 16  # smaller numbers lead nowhere that the pointer itself does not
MOST_NUMBERS = 12
FAR = 1 << 21  # bytes from the pointer: a page that is nearer may be where the pointer itself leads
WORDS = (4, 8)  # bytes of a whole number


@dataclass(frozen=True)
class Aim:
    """How work reaches the address: a launch or the launch of a graph, by its position."""

    position: int
    kernel: str
    argument: int  # the pointer's
    object: int  # that it points into, or -1
    text: str  # "argument 0 + argument 1 (274,877,906,944) x 4 bytes"


def of_launch(facts: Facts, launch: int, address: int, span: int) -> Aim | None:
    """How a launch (a row of Launches) reaches the `span` bytes from `address` on; None if its numbers do not lead there."""
    pointers = facts.launches.pointers
    given = ((int(v["index"]), bytes(v["bytes"])) for v in facts.launches.values(launch) if int(v["object"]) < 0)
    found = _ways(facts, pointers, pointers.of(launch), _numbers(given), address, span)
    position, kernel = int(facts.launches.position[launch]), facts.launches.name(launch)
    return next((Aim(position, kernel, *way) for way in found), None)


def of_graph(facts: Facts, position: int, address: int, span: int) -> Aim | None:
    """The same of a kernel in a graph that was launched at a position."""
    row = int(np.searchsorted(facts.graphs.position, position))
    version = facts.graphs.version(row)
    if version is None:
        return None
    pointers = facts.graphs.pointers(version)
    for place, node in enumerate(version.nodes):
        if node.kind != "kernel":
            continue
        _, arguments = facts.trace.arguments(np.array([node.position], np.int64))
        given = ((int(a["index"]), int(a["value"]).to_bytes(8, "little")[: int(a["size"])]) for a in arguments)
        rows = np.flatnonzero(pointers.launch == place)
        for way in _ways(facts, pointers, rows, _numbers(given), address, span):
            return Aim(position, facts.kernels.name(node.kernel_row), *way)
    return None


def _ways(
    facts: Facts, pointers: Pointers, rows: Iterable[int], numbers: list[tuple[str, int]], address: int, span: int
) -> Iterator[tuple[int, int, str]]:
    """(argument, object, words) of each way from a pointer to the address, outside of the memory that it points into."""
    table = facts.objects.table
    for row in rows:
        value, obj, index = int(pointers.value[row]), int(pointers.object[row]), int(pointers.index[row])
        begin, size = (int(table["handle"][obj]), int(table["size"][obj])) if obj >= 0 else (value, 0)
        if begin <= address < begin + size:
            continue
        for name, number in numbers:
            for element in ELEMENTS:
                if abs(number * element) >= FAR and address <= value + number * element < address + span:
                    yield index, obj, f"argument {index} + {name} x {element} byte{'s' * (element > 1)}"


def _numbers(given: Iterable[tuple[int, bytes]]) -> list[tuple[str, int]]:
    """Whole numbers among values that were given, and products of two of them."""
    found: dict[int, str] = {}
    for index, data in given:
        if len(data) in WORDS:
            for number in {int.from_bytes(data, "little", signed=True), int.from_bytes(data, "little")}:
                found.setdefault(number, f"argument {index} ({number:,})")
    single = [(name, number) for number, name in found.items() if abs(number) >= LEAST][:MOST_NUMBERS]
    pairs = [(f"{a[0]} x {b[0]}", a[1] * b[1]) for a, b in combinations(single, 2)]
    return [*single, *pairs]
