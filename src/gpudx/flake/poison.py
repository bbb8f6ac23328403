"""Tests that fail because of what ran before them in the same process: which test poisons which.

A first fault with many failures behind it is one question, not a thousand: they are run with it, and without it. For others the
tests that ran before are thinned out until the smallest set is left that still does it. If the poisoner fails itself, what
follows it is a cascade; if it passes, the order is the matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpudx.flake.asking import Records
from gpudx.flake.ledger import ran
from gpudx.flake.minimise import smallest
from gpudx.flake.ways import in_sequence, reference
from gpudx.model.flake import ALONE, BAD, PASSED, REVERSED, SHUFFLED, Batch

TRIES = 10  # to see a first fault again
MOST_SOUGHT = 4  # poisoners that are searched for
ENOUGH_FOLLOWERS = 2


def rounds_needed(level: float) -> int:
    """Rounds of "fails with it, passes without it" in a row. A test that fails at random does this by luck in a quarter of the
    rounds at most, whatever its rate."""
    return math.ceil(math.log(1 / level, 4))


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
    """The first failure of a run, and those behind it that have never failed, in any order, without it before them."""
    bad = records.ledger.bad(batch)
    if not bad:
        return -1, []
    own = {t for other in _sequential(records) for t in _before(records.ledger.bad(other), bad[0])}
    return bad[0], [t for t in bad[1:] if t not in known and t not in own]


def _before(bad: list[int], first: int) -> list[int]:
    """What failed before, or without, this one."""
    return bad[: bad.index(first)] if first in bad else bad


def _followers(records: Records, first: int, followers: Sequence[int]) -> dict[int, Poisoned]:
    """The followers with the first fault before them, and without it, in turns; those that keep to it in every round."""
    condition, phase = reference(records), f"does everything follow {records.suite.tests[first]}"
    asked = f"{first} before {len(followers)} from {followers[0]}"
    kept = list(followers)
    for number in range(rounds_needed(records.level)):
        order = sorted({first, *kept}) if not records.suite.ordered else [first, *sorted(kept)]
        after = records.until(
            f"with {asked} {number}", condition, order, TRIES, lambda b: _fails(records, b, first), phase
        )
        if after is None:
            return {}  # the first one passes now: it cannot be told what follows it
        without = records.ask(f"without {asked} {number}", condition, sorted(kept), 1, phase=phase)[0]
        with_it, without_it = records.ledger.marks(after), records.ledger.marks(without)
        kept = [t for t in kept if with_it[t] in BAD and without_it[t] == PASSED]
        if not kept:
            return {}
    return {t: Poisoned(t, (first,), True) for t in kept}


def _fails(records: Records, batch: Batch, test: int) -> bool:
    return records.ledger.failed(batch, test) is True


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
    needs = _always(records, victim)
    if needs is None:
        return {}
    example = _example(records, victim, not needs)
    if example is None:
        return {}
    order = list(ran(example, records.ledger.tests))
    before = tuple(order[: order.index(victim)])

    def does(tests: tuple[int, ...]) -> bool:
        purpose = f"order {victim} after {' '.join(map(str, tests))}"
        runs = records.ask(purpose, reference(records), (*tests, victim), 1, phase=phase)
        return records.ledger.failed(runs[0], victim) is (not needs)

    tried = [p.by for p in known.values() if not needs and set(p.by) <= set(before)]
    start = next((by for by in dict.fromkeys(tried) if does(by)), before)
    if not start or not does(start):
        return {}  # it does not come again in the same order: the order is not the matter
    by = smallest(start, does)
    times = rounds_needed(records.level)
    again = records.ask(f"pair {victim}", reference(records), (*by, victim), times, look=True, phase=phase)
    sure = all(records.ledger.failed(b, victim) is (not needs) for b in again)
    itself = any(records.ledger.failed(again[-1], p) is True for p in by)
    return {victim: Poisoned(victim, by, itself, needs)} if sure else {}


def _always(records: Records, victim: int) -> bool | None:
    """Alone, does it always fail, or always pass? None: now this, now that."""
    first: bool | None = None
    for number in range(1, rounds_needed(records.level) + 1):
        run = records.ask(f"alone {victim}", ALONE, (victim,), number, look=True, phase="suspects alone")[-1]
        now = records.ledger.failed(run, victim)
        first = now if number == 1 else first
        if now is None or now != first:
            return None
    return first


def _example(records: Records, victim: int, failing: bool) -> Batch | None:
    """The run with the fewest tests before the victim in which it failed, or passed where it needs others."""
    wanted = [b for b in _sequential(records) if records.ledger.failed(b, victim) is failing]
    places = [list(ran(b, records.ledger.tests)).index(victim) for b in wanted]
    return wanted[places.index(min(places))] if wanted and min(places) > 0 else None
