"""Lines of work, and which line of one run is which of the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.codes import mixed

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
MOST_COMPARED = 64  # lines that are compared each with each; more are paired in order


@dataclass(frozen=True)
class Line:
    """The elements of one thread or queue, in order; `codes` is what they are, `key` whose they are."""

    key: int
    rows: I64
    codes: U64
    first: bool = False  # the thread that the process began with

    @property
    def whole(self) -> int:
        """One number for all of it."""
        places = np.arange(len(self.codes), dtype=np.uint64)
        return int(mixed(len(places), [self.codes, places]).sum(dtype=np.uint64))


def split(keys: NDArray[np.int64] | NDArray[np.uint32], codes: U64, first: int = -1) -> list[Line]:
    """A line for each key, in order of first appearance."""
    values, begun = np.unique(keys, return_index=True)
    order = np.argsort(keys, kind="stable")
    parts = np.split(order, np.cumsum(np.unique(keys[order], return_counts=True)[1])[:-1]) if len(values) else []
    lines = [Line(int(v), rows, codes[rows], int(v) == first) for v, rows in zip(values, parts, strict=True)]
    return [lines[place] for place in np.argsort(begun)]


def paired(good: Sequence[Line], bad: Sequence[Line]) -> list[tuple[Line | None, Line | None]]:
    """The first threads, then equal lines, then those that share most; what is left has no partner."""
    pairs: list[tuple[Line | None, Line | None]] = []
    one, other = list(good), list(bad)
    for test in (_both_first, _equal):
        for mine, theirs in test(one, other):
            pairs.append((mine, theirs))
            one = [line for line in one if line is not mine]
            other = [line for line in other if line is not theirs]
    for mine in list(one)[:MOST_COMPARED]:
        if other:
            best = max(other[:MOST_COMPARED], key=lambda line: _shared(mine, line))
            pairs.append((mine, best))
            one = [line for line in one if line is not mine]
            other = [line for line in other if line is not best]
    rest = min(len(one), len(other))
    pairs += zip(one[:rest], other[:rest], strict=True)
    return [*pairs, *((line, None) for line in one[rest:]), *((None, line) for line in other[rest:])]


def _both_first(good: list[Line], bad: list[Line]) -> list[tuple[Line, Line]]:
    return [(a, b) for a in good if a.first for b in bad if b.first]


def _equal(good: list[Line], bad: list[Line]) -> list[tuple[Line, Line]]:
    waiting = defaultdict(list)
    for line in reversed(bad):
        waiting[line.whole].append(line)
    return [(line, waiting[line.whole].pop()) for line in good if waiting[line.whole]]


def _shared(one: Line, other: Line) -> float:
    """The part of both that they have in common, without order."""
    counts = [dict(zip(*np.unique(line.codes, return_counts=True), strict=True)) for line in (one, other)]
    common = sum(min(n, counts[1].get(code, 0)) for code, n in counts[0].items())
    return 2 * common / max(len(one.codes) + len(other.codes), 1)


def bag_equal(one: U64, other: U64) -> bool:
    """The same elements, in whatever order?"""
    return len(one) == len(other) and bool((np.sort(one) == np.sort(other)).all())
