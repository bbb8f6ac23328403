"""What kind of failure a test has: decided by counts alone, each statement at the confidence that was asked for.

deterministic           failed in every run, often enough that a test which fails in half of its runs would have passed once
cascade, order-dependent    settled by runs with and without what ran before it
resource-dependent      fails more often while a second copy of the suite runs, and never otherwise one at a time
concurrency-dependent   fails more often beside other tests at the same time, and never one at a time
environment             fails more often while other programs have the GPU open
random                  passed and failed alone, in fresh processes: nothing that was varied here decides
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gpudx.flake.asking import Records
from gpudx.flake.ledger import WRONG
from gpudx.flake.poison import Poisoned
from gpudx.flake.ways import apart, reference, together
from gpudx.model.flake import ALONE, BUSY, Kind
from gpudx.model.rates import Rate, changed

CONTRASTS = 2  # that share the level: beside others, and under load


def runs_for_always(level: float) -> int:
    """So many failures in a row come to a test that fails in half of its runs with a probability of `level` at most."""
    return math.ceil(math.log2(1 / level))


def kinds(records: Records, poisoned: Mapping[int, Poisoned]) -> dict[int, Kind]:
    """The kind of each test that failed."""
    made = _Counts(records)
    return {int(t): made.kind(int(t), poisoned.get(int(t))) for t in records.ledger.suspects()}


class _Counts:
    """The columns that the decision needs, made once for all tests."""

    def __init__(self, records: Records) -> None:
        ledger, names = records.ledger, records.ledger.conditions()
        one_at_a_time = apart(records)
        self._records = records
        self._bar = CONTRASTS / records.level
        self._failures, self._runs = ledger.failures(*names), ledger.runs(*names)
        self._apart = ledger.failures(*one_at_a_time)
        self._alone, self._alone_runs = ledger.failures(ALONE.name), ledger.runs(ALONE.name)
        self._beside = ledger.fortunes(together(records), one_at_a_time)
        self._busy = ledger.fortunes((BUSY.name,), one_at_a_time)
        self._near_strangers = strangers(records)[1]

    def kind(self, test: int, poison: Poisoned | None) -> Kind:
        if poison:
            return "cascade" if poison.fails_itself and not poison.needs else "order-dependent"
        if self._always(test):
            return "deterministic"
        if not self._apart[test] and self._busy[test] >= self._bar:
            return "resource-dependent"
        if not self._apart[test] and self._beside[test] >= self._bar:
            return "concurrency-dependent"
        if test in self._near_strangers:
            return "environment"
        return "random" if self._mixed_alone(test) else "not settled"

    def _always(self, test: int) -> bool:
        return bool(self._failures[test] == self._runs[test] >= runs_for_always(self._records.level))

    def _mixed_alone(self, test: int) -> bool:
        """Alone, or where the suite is one test or runs one process for each, in the same condition."""
        if self._records.has(ALONE):
            return bool(0 < self._alone[test] < self._alone_runs[test])
        name = reference(self._records).name
        return bool(0 < self._records.ledger.failures(name)[test] < self._records.ledger.runs(name)[test])


def strangers(records: Records) -> tuple[tuple[str, ...], frozenset[int]]:
    """Programs that had a GPU open in some runs, and the tests that fail more often beside them, and never without.

    Observed, not arranged: these runs were not drawn by lot.
    """
    counted = [b for b in records.ledger.batches if not b.purpose or b.condition == ALONE.name]
    with_them = np.array([bool(b.strangers) for b in counted], bool)
    if not with_them.any() or with_them.all():
        return (), frozenset()
    rows = np.stack([records.ledger.row(b) for b in counted])
    suspects = np.flatnonzero((rows[with_them] == WRONG).any(axis=0) & ~(rows[~with_them] == WRONG).any(axis=0))
    level = records.level / CONTRASTS
    found = [t for t in suspects if changed(_rate(rows[~with_them, t]), _rate(rows[with_them, t]), level) == "higher"]
    return tuple(dict.fromkeys(name for b in counted for name in b.strangers)), frozenset(map(int, found))


def _rate(rows: NDArray[np.int8]) -> Rate:
    return Rate(int((rows == WRONG).sum()), int((rows >= 0).sum()))
