"""Tests that fail because of what ran before them in the same process: which test poisons which.

A first fault with many failures behind it is one question, not a thousand: they are run with it, and without it. For others the
tests that ran before are thinned out until the smallest set is left that still does it. If the poisoner fails itself, what
follows it is a cascade; if it passes, the order is the matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudx.diagnose.flaky.asking import Records
from gpudx.diagnose.flaky.ledger import failed, position, ran
from gpudx.diagnose.flaky.minimise import smallest
from gpudx.diagnose.flaky.ways import in_sequence, reference
from gpudx.model.flake import ALONE, BAD, PASSED, REVERSED, SHUFFLED, Batch

TRIES = 10  # to see a first fault again
SURE = 2
MOST_SOUGHT = 4  # poisoners that are searched for
ENOUGH_FOLLOWERS = 2


@dataclass(frozen=True)
class Poisoned:
    """A victim, and the tests that it takes. `needs`: it passes only after them, and fails without."""

    victim: int
    by: tuple[int, ...]
    fails_itself: bool
    needs: bool = False


def find_poisoned(records: Records, found: dict[int, Poisoned]) -> None:
    """Add what is known, or can be found out, of each victim."""
    if not records.suite.shares_process:
        return
    for batch in _sequential(records):
        first, followers = _cascade(records, batch, found)
        if len(followers) >= ENOUGH_FOLLOWERS:
            found.update(_followers(records, first, followers))
    if records.suite.ordered:
        for victim in _candidates(records, found)[:MOST_SOUGHT]:
            found.update(_searched(records, victim, found))


def _sequential(records: Records) -> list[Batch]:
    names = in_sequence(records)
    return [b for b in records.ledger.batches if b.condition in names and not b.purpose]


def _cascade(records: Records, batch: Batch, known: dict[int, Poisoned]) -> tuple[int, list[int]]:
    """The first failure of a run, and the failures behind it that nothing explains yet."""
    bad = [t for t in ran(batch, records.ledger.tests) if batch.marks[position(batch, t)] in BAD]
    rest = [t for t in bad[1:] if t not in known]
    return (bad[0], rest) if bad else (-1, [])


def _followers(records: Records, first: int, followers: Sequence[int]) -> dict[int, Poisoned]:
    """The followers with the first fault before them, and without it."""
    condition, phase = reference(records), f"does everything follow {records.suite.tests[first]}"
    order = sorted({first, *followers}) if not records.suite.ordered else [first, *sorted(followers)]
    asked = f"{first} before {len(followers)} from {followers[0]}"

    def again(batch: Batch) -> bool:
        return failed(batch, first, records.ledger.tests) is True

    after = records.until(f"with {asked}", condition, order, TRIES, again, phase)
    if after is None:
        return {}  # the first one passes now: it cannot be told what follows it
    without = records.ask(f"without {asked}", condition, sorted(followers), 1, phase=phase)[0]
    return {
        t: Poisoned(t, (first,), True)
        for t in followers
        if after.marks[position(after, t)] in BAD and without.marks[position(without, t)] == PASSED
    }


def _candidates(records: Records, known: dict[int, Poisoned]) -> list[int]:
    """Tests whose result differs between orders, and is the same whenever the order is."""
    ledger = records.ledger
    given, runs = ledger.failures(reference(records).name), ledger.runs(reference(records).name)
    constant = (given == 0) | (given == runs)
    other, others = (of(SHUFFLED.name, REVERSED.name) for of in (ledger.failures, ledger.runs))
    differs = constant & (runs > 0) & (((given == 0) & (other > 0)) | ((given == runs) & (other < others)))
    return [int(t) for t in differs[: ledger.tests].nonzero()[0] if int(t) not in known]


def _searched(records: Records, victim: int, known: dict[int, Poisoned]) -> dict[int, Poisoned]:
    """Thin out what ran before the victim. Poisoners that are known already are tried first."""
    phase = f"what runs before {records.suite.tests[victim]}"
    alone = records.ask(f"alone {victim}", ALONE, (victim,), SURE, look=True, phase="suspects alone")
    by_itself = [failed(b, victim, records.ledger.tests) for b in alone]
    if len(set(by_itself)) != 1 or None in by_itself:
        return {}
    needs = by_itself[0] is True
    example = _example(records, victim, not needs)
    if example is None:
        return {}
    order = list(ran(example, records.ledger.tests))
    before = tuple(order[: order.index(victim)])

    def does(tests: tuple[int, ...]) -> bool:
        purpose = f"order {victim} after {' '.join(map(str, tests))}"
        runs = records.ask(purpose, reference(records), (*tests, victim), 1, phase=phase)
        return failed(runs[0], victim, records.ledger.tests) is (not needs)

    tried = [p.by for p in known.values() if not needs and set(p.by) <= set(before)]
    start = next((by for by in dict.fromkeys(tried) if does(by)), before)
    if not start or not does(start):
        return {}  # it does not come again in the same order: the order is not the matter
    by = smallest(start, does)
    again = records.ask(f"pair {victim}", reference(records), (*by, victim), SURE, look=True, phase=phase)
    sure = all(failed(b, victim, records.ledger.tests) is (not needs) for b in again)
    itself = any(failed(again[-1], p, records.ledger.tests) is True for p in by)
    return {victim: Poisoned(victim, by, itself, needs)} if sure else {}


def _example(records: Records, victim: int, failing: bool) -> Batch | None:
    """The run with the fewest tests before the victim in which it failed, or passed where it needs others."""
    wanted = [b for b in _sequential(records) if failed(b, victim, records.ledger.tests) is failing]
    places = [list(ran(b, records.ledger.tests)).index(victim) for b in wanted]
    return wanted[places.index(min(places))] if wanted and min(places) > 0 else None
