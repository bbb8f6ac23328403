"""Tests that fail only beside others: the smallest company in which one fails, and what the record of that run shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudx.flake.asking import Records
from gpudx.flake.minimise import smallest
from gpudx.flake.ways import crowded, together
from gpudx.model.flake import Batch
from gpudx.model.rates import Rate, runs_needed

FEWEST, MOST = 4, 10  # runs of one company before it is said not to fail
COMPANIONS = 3  # that are tried one by one before the list is thinned out
SELF = 3  # runs beside nobody


@dataclass(frozen=True)
class Company:
    """A test, those that it fails beside (none: it fails beside its own threads), and the run that showed it."""

    test: int
    beside: tuple[int, ...]
    run: Batch


def company(records: Records, test: int, likely: Sequence[int]) -> Company | None:
    """None if it was not seen to fail in any company smaller than all."""
    tests, name = records.ledger.tests, _name(records, test)

    def beside(others: tuple[int, ...], times: int) -> Batch | None:
        chosen = sorted({*others, test} - {tests})
        purpose = f"company {test} beside {' '.join(map(str, others))}"
        phase = f"which other tests make {name} fail"
        return records.until(
            purpose, crowded(records), chosen, times, lambda b: records.ledger.failed(b, test) is True, phase
        )

    if test != tests and (run := beside((), SELF)):
        return Company(test, (), run)
    times = _times(records, test)
    for other in [one for one in likely if one not in (test, tests)][:COMPANIONS]:
        if run := beside((other,), times):
            return Company(test, (other,), run)
    everyone = tuple(t for t in range(tests) if t != test)
    if not everyone or beside(everyone, times) is None:
        return None
    found = smallest(everyone, lambda some: beside(some, times) is not None)
    run = beside(found, times)
    return Company(test, found, run) if run else None


def _times(records: Records, test: int) -> int:
    """As often as its rate in the whole company demands, within bounds."""
    names, ledger = together(records), records.ledger
    rate = Rate(int(ledger.failures(*names)[test]), int(ledger.runs(*names)[test]))
    needed = runs_needed(rate, 0.05) if rate.runs else None
    return min(MOST, max(FEWEST, needed or MOST))


def _name(records: Records, test: int) -> str:
    return records.suite.tests[test] if test < records.ledger.tests else "the process"
