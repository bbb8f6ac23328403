"""Which allocation of one run is which of the other, and where they differ.

Per thread, allocations are aligned in the order in which they were made: first by kind, family and size, then, between those, by
kind and family alone. So an allocation keeps its identity when its size changes, and when others come or go before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.compared.align import Aligner, Pairs
from gpudx.compared.found import NOT_THERE, Found
from gpudx.compared.lines import bag_equal
from gpudx.compared.side import Side
from gpudx.facts.codes import mixed
from gpudx.words import plural

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


def same_in_any_order(good: Side, bad: Side) -> bool:
    """Did both sides allocate the same, whoever did and when?"""
    return bag_equal(good.memory_like, bad.memory_like)


def differences(memory: Memory) -> Iterator[Found]:
    """Changed, missing and new allocations."""
    good, bad = memory.good, memory.bad
    for place in memory.changed.tolist():
        one, other = (int(side.memory[pair[place]]) for side, pair in zip((good, bad), memory.pairs, strict=True))
        yield Found(
            "allocations", _name(good, one), _size(good, one), _size(bad, other), _born(good, one), _born(bad, other)
        )
    for place in memory.alone(0).tolist():
        row = int(good.memory[place])
        yield Found("allocations", _name(good, row), _size(good, row), NOT_THERE, _born(good, row), None)
    for place in memory.alone(1).tolist():
        row = int(bad.memory[place])
        yield Found("allocations", _name(bad, row), NOT_THERE, _size(bad, row), None, _born(bad, row))


def count(memory: Memory) -> int:
    return len(memory.changed) + len(memory.alone(0)) + len(memory.alone(1))


def _name(side: Side, row: int) -> str:
    family = side.objects.family(row)
    return f"allocation {side.objects.label(row)}{f' ({family})' if family else ''}:"


def _size(side: Side, row: int) -> str:
    return plural(int(side.objects.table["size"][row]), "byte")


def _born(side: Side, row: int) -> int:
    return int(side.objects.table["born"][row])
