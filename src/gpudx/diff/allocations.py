"""Which allocation of one run is which of the other, and where they differ.

Per thread, allocations are aligned in the order in which they were made: first by kind, family and size, then, between those, by
kind and family alone. So an allocation keeps its identity when its size changes, and when others come or go before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.diff.align import Aligner, Pairs
from gpudx.diff.found import NOT_THERE, Found
from gpudx.diff.side import Side
from gpudx.facts.codes import mixed
from gpudx.text import plural

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


@dataclass(frozen=True)
class Memory:
    """`pairs` are places in Side.memory of both sides; what is in none has no partner."""

    good: Side
    bad: Side
    pairs: Pairs

    @property
    def changed(self) -> I64:
        """Those of the pairs whose sizes differ."""
        left, right = self.pairs
        return np.flatnonzero(self.good.memory_like[left] != self.bad.memory_like[right])

    def alone(self, side: int) -> I64:
        """Places without a partner."""
        rows = (self.good, self.bad)[side].memory
        return np.setdiff1d(np.arange(len(rows)), self.pairs[side])

    def labels(self) -> tuple[U64, U64]:
        """Labels for all objects of both sides: equal for allocations that belong together."""
        good, bad = self.good.kinds(), self.bad.kinds()
        left, right = self.pairs
        for labels, side, places, alone, mark in (
            (good, self.good, left, self.alone(0), 1),
            (bad, self.bad, right, self.alone(1), 2),
        ):
            labels[side.memory[places]] = _numbers(len(places), 0)
            labels[side.memory[alone]] = _numbers(len(alone), mark)
        return good, bad

    def old_likes(self) -> U64:
        """Labels for the bad side by kind, family and size, where a changed size counts as the old one."""
        labels, (left, right) = self.bad.likes(), self.pairs
        labels[self.bad.memory[right]] = self.good.memory_like[left]
        return labels

    @property
    def count(self) -> int:
        """How many differ."""
        return len(self.changed) + len(self.alone(0)) + len(self.alone(1))

    def differences(self, most: int) -> Iterator[Found]:
        """The first `most` changed, missing and new allocations."""
        left, right = self.pairs
        changed = self.changed
        for place in changed[np.argsort(left[changed], kind="stable")][:most].tolist():
            one, other = int(self.good.memory[left[place]]), int(self.bad.memory[right[place]])
            yield _found(_name(self.good, one), (self.good, one), (self.bad, other))
        for row in self.good.memory[self.alone(0)[:most]].tolist():
            yield _found(_name(self.good, row), (self.good, row), None)
        for row in self.bad.memory[self.alone(1)[:most]].tolist():
            yield _found(_name(self.bad, row), None, (self.bad, row))


def _numbers(count: int, mark: int) -> U64:
    return mixed(count, [np.full(count, 77 + mark, np.uint64), np.arange(count, dtype=np.uint64)])


def match(good: Side, bad: Side, threads: list[tuple[int | None, int | None]], aligner: Aligner) -> Memory:
    """Allocations paired thread by thread."""
    parts: list[Pairs] = []
    for mine, theirs in threads:
        if mine is None or theirs is None:
            continue
        a, b = np.flatnonzero(good.memory_thread == mine), np.flatnonzero(bad.memory_thread == theirs)
        left, right = aligner.refine(
            aligner.align(good.memory_like[a], bad.memory_like[b]), good.memory_kind[a], bad.memory_kind[b]
        )
        parts.append((a[left], b[right]))
    empty = np.zeros(0, np.int64)
    left = np.concatenate([empty, *(one for one, _ in parts)])
    right = np.concatenate([empty, *(two for _, two in parts)])
    return Memory(good, bad, (left, right))


def match_in_any_order(good: Side, bad: Side, aligner: Aligner) -> Memory:
    """Allocations paired by what they are, whoever made them and when; what is left over, by kind and family."""
    a, b = _counted(good.memory_like), _counted(bad.memory_like)
    _, left, right = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    rest = [np.setdiff1d(np.arange(len(codes)), used) for codes, used in ((a, left), (b, right))]
    more = aligner.align(good.memory_kind[rest[0]], bad.memory_kind[rest[1]])
    return Memory(good, bad, (np.concatenate([left, rest[0][more[0]]]), np.concatenate([right, rest[1][more[1]]])))


def _counted(codes: U64) -> U64:
    """Codes that tell the first, second, third of equal ones apart."""
    order = np.argsort(codes, kind="stable")
    begins = np.searchsorted(codes[order], codes[order])
    nth = np.empty(len(codes), np.uint64)
    nth[order] = np.arange(len(codes)) - begins
    return mixed(len(codes), [codes, nth])


def _name(side: Side, row: int) -> str:
    family = side.objects.family(row)
    return f"allocation {side.objects.label(row)}{f' ({family})' if family else ''}:"


def _found(where: str, good: tuple[Side, int] | None, bad: tuple[Side, int] | None) -> Found:
    was, now = (_size(*one) if one else NOT_THERE for one in (good, bad))
    made = [
        int(side.objects.table["born"][row]) if side else None
        for side, row in (one or (None, 0) for one in (good, bad))
    ]
    return Found("allocations", where, was, now, made[0], made[1])


def _size(side: Side, row: int) -> str:
    return plural(int(side.objects.table["size"][row]), "byte")
