"""Copies and fills that work on the same host memory, at least one of them writing it, and that nothing orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.ranges import WRITE

I64 = NDArray[np.int64]
NEXT = 4  # so many later copies of the same memory are compared with each


def unordered_pairs(facts: Facts) -> I64:
    """(row of HostCopies, position of a later copy)."""
    table = facts.host_copies.table
    rows, area = _by_area(facts)
    found = [np.zeros((0, 2), np.int64)]
    for step in range(1, NEXT + 1):
        first, second = rows[:-step], rows[step:]
        keep = (area[:-step] == area[step:]) & ~table["blocking"][first] & _conflict(table[first], table[second])
        if keep.any():
            first, second = first[keep], table["position"][second[keep]]
            found.append(np.stack([first, second], axis=1)[_loose(facts, table["position"][first], second)])
    return np.concatenate(found)


def _by_area(facts: Facts) -> tuple[I64, I64]:
    """Rows, and the area of each: stretches that touch are one. By area and time."""
    table = facts.host_copies.table
    rows = np.flatnonzero(table["size"] > 0)
    rows = rows[np.argsort(table["address"][rows], kind="stable")]
    reach = np.maximum.accumulate(table["address"][rows] + table["size"][rows])
    area = np.cumsum(np.append(np.zeros(min(len(rows), 1)), table["address"][rows][1:] >= reach[:-1])).astype(np.int64)
    order = np.lexsort((table["position"][rows], area))
    return rows[order], area[order]


def _conflict(first: NDArray[np.void], second: NDArray[np.void]) -> NDArray[np.bool_]:
    overlap = (first["address"] < second["address"] + second["size"]) & (
        second["address"] < first["address"] + first["size"]
    )
    return overlap & ((first["how"] == WRITE) | (second["how"] == WRITE))


def _loose(facts: Facts, first: I64, second: I64) -> NDArray[np.bool_]:
    """Is the second of each pair not known to come after the first?"""
    one, two = facts.happens.op_at(first), facts.happens.op_at(second)
    loose = (one >= 0) & (two >= 0)
    at = np.flatnonzero(loose)
    loose[at] = ~facts.happens.ordered(one[at], two[at]) & ~facts.happens.ordered(two[at], one[at])
    return loose
