"""Runs counted by condition and test, as tables: ten thousand tests are a few columns of numbers.

The last column stands for the process: it fails when a process dies with several tests running, which blames none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpudx.model.bets import RARER, RICHEST, Game
from gpudx.model.flake import AMONG, BAD, KNOWN, NOT_RUN, PASSED, Batch

Marks = NDArray[np.int8]  # runs x tests: 1 failed, 0 passed, -1 not known
Ints = NDArray[np.int64]
UNKNOWN, GOOD, WRONG = -1, 0, 1
_CODES = np.full(256, UNKNOWN, np.int8)
for _letter in KNOWN:
    _CODES[ord(_letter)] = GOOD if _letter == PASSED else WRONG


class Ledger:
    """All runs that count for rates; `asked` has the others, by the question that they are a part of."""

    def __init__(self, tests: int, batches: Iterable[Batch] = ()) -> None:
        self.tests = tests
        self.batches: list[Batch] = []
        self.asked: dict[str, list[Batch]] = {}
        self._rows: list[tuple[str, Marks]] = []  # in the order of time
        self._marks: dict[int, dict[int, str]] = {}  # by the identity of a run that is kept here
        self._tables: dict[tuple[str, ...], Marks] = {}
        for batch in batches:
            self.add(batch)

    @property
    def process(self) -> int:
        """The column of the process."""
        return self.tests

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.purpose:
            self.asked.setdefault(batch.purpose, []).append(batch)
        if not batch.purpose or batch.condition == "alone":
            self._rows.append((batch.condition, self.row(batch)))
            self._tables.clear()

    def row(self, batch: Batch) -> Marks:
        """One run as a row of all tests."""
        row = np.full(self.tests + 1, UNKNOWN, np.int8)
        codes = _CODES[np.frombuffer(batch.marks.encode("ascii"), np.uint8)]
        if batch.tests:
            row[list(batch.tests)] = codes
        else:
            row[: self.tests] = codes
        if not batch.tests or len(batch.tests) > 1:
            row[self.tests] = WRONG if batch.died else GOOD
        return row

    def marks(self, batch: Batch) -> dict[int, str]:
        """What became of each test in a run of this ledger."""
        if id(batch) not in self._marks:
            self._marks[id(batch)] = dict(zip(batch.tests or range(self.tests), batch.marks, strict=False))
        return self._marks[id(batch)]

    def bad(self, batch: Batch) -> list[int]:
        """The tests that failed in a run, in the order in which they ran."""
        marks = self.marks(batch)
        return [test for test in ran(batch, self.tests) if marks[test] in BAD]

    def failed(self, batch: Batch, test: int) -> bool | None:
        """Did it, in a run that was made to find out? A death of the process while it ran counts here; None: not run."""
        if test == self.process:
            return batch.died
        mark = self.marks(batch)[test]
        return None if mark == NOT_RUN else mark in BAD or (mark == AMONG and batch.died)

    def matrix(self, *conditions: str) -> Marks:
        """The runs of these conditions, in the order of time."""
        if conditions not in self._tables:
            rows = [row for name, row in self._rows if name in conditions]
            self._tables[conditions] = np.stack(rows) if rows else np.zeros((0, self.tests + 1), np.int8)
        return self._tables[conditions]

    def failures(self, *conditions: str) -> Ints:
        return (self.matrix(*conditions) == WRONG).sum(axis=0)

    def runs(self, *conditions: str) -> Ints:
        return (self.matrix(*conditions) != UNKNOWN).sum(axis=0)

    def count(self, *conditions: str) -> int:
        """Runs, whatever they gave."""
        return len(self.matrix(*conditions))

    def conditions(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self._rows))

    def suspects(self) -> Ints:
        """Tests that ever failed in a run that counts."""
        return np.flatnonzero(self.failures(*self.conditions()))

    def fortunes(self, worse: Sequence[str], better: Sequence[str], game: Game = RARER) -> NDArray[np.float64]:
        """For each test, the evidence that it fails more often in some conditions than in others: see gpudx.model.bets.

        The n-th known result of the ones is paired with the n-th of the others. If the condition does not matter, a pair of
        which one fails is a toss of a fair coin.
        """
        first, second = _known(self.matrix(*worse)), _known(self.matrix(*better))
        rounds = min(len(first), len(second))
        first, second = first[:rounds], second[:rounds]
        both = (first != UNKNOWN) & (second != UNKNOWN)
        gains = np.where(both, first - second, 0).astype(np.float64)
        held = np.zeros((rounds + 1, self.tests + 1))
        held[0] = 1.0
        for part, stake in game.stakes:
            held[1:] += part * np.minimum(np.cumprod(1 + stake * gains, axis=0), RICHEST)
        return held.max(axis=0)


def _known(marks: Marks) -> Marks:
    """Known results first, in their order, column by column."""
    order = np.argsort(marks == UNKNOWN, axis=0, kind="stable")
    return np.take_along_axis(marks, order, axis=0)


def ran(batch: Batch, tests: int) -> Sequence[int]:
    """In which order tests ran."""
    return batch.order or batch.tests or range(tests)
