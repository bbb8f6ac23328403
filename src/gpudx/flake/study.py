"""The walk through the questions: which tests fail, since when in a run, beside whom, under what.

Runs are spent where they discriminate: first the whole suite in every condition, which says something of all tests at once; then
only what the suspects still need. A question that is answered asks for nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gpudx.flake.asking import Missing, Records, Wish
from gpudx.flake.kinds import kinds, runs_for_always
from gpudx.flake.pairs import Company, company
from gpudx.flake.poison import Poisoned, find_poisoned
from gpudx.flake.ways import apart, crowded, reference, together
from gpudx.model.flake import (
    ALONE,
    BUSY,
    MANY,
    ONE,
    PERTURBED,
    PLAIN,
    REVERSED,
    SERIALISED,
    SHUFFLED,
    SWEEP,
    Condition,
    Kind,
)

SURVEY = (PLAIN, ONE, MANY, SHUFFLED, REVERSED, BUSY)
ROUNDS = 2  # of the survey
QUIET = 30  # runs of the whole suite without a failure: then it is said that none came
MOST_CONTRAST = 60  # runs in each of two ways
MOST_ALONE = 30  # suspects that are run alone
ALONE_RUNS, ALONE_MOST = 1, 10
STRANGE = 16  # runs, where other programs come and go
INFORM = 3  # runs that only inform
SWEPT = 2  # runs with each number of threads
MOST_BLAMES = 4


@dataclass
class Study:
    """What was found out so far, beside the counts."""

    poisoned: dict[int, Poisoned] = field(default_factory=dict)
    companies: dict[int, Company] = field(default_factory=dict)
    searched: set[int] = field(default_factory=set)  # in vain


def study(records: Records, into: Study) -> None:
    """Find out all there is to find out. Raises Missing where a run is needed first; `into` keeps what is known until then."""
    _survey(records)
    find_poisoned(records, into.poisoned)
    _alone(records, into)
    _always(records, into)
    _contrasts(records, into)
    _beside_strangers(records, into)
    _again_alone(records, into)
    _companies(records, into)
    _sweep(records, into)
    _inform(records)


def _survey(records: Records) -> None:
    """Every condition, in turns; more of it while nothing fails."""
    ways = [way for way in SURVEY if records.has(way)]
    records.in_turns(ways, ROUNDS, "survey")
    counts = {way: records.ledger.count(way.name) for way in ways}
    runs = sum(counts.values())
    if not len(records.ledger.suspects()) and runs < QUIET:
        raise Missing([Wish(way, phase="survey") for way in _turns(counts, QUIET - runs)], sure=1)


def _turns(counts: Mapping[Condition, int], times: int) -> list[Condition]:
    """So many more runs, each in the way that has the fewest by then."""
    have, turns = dict(counts), list[Condition]()
    for _ in range(times):
        turns.append(min(have, key=lambda way: have[way]))
        have[turns[-1]] += 1
    return turns


def _open(records: Records, into: Study, *wanted: Kind) -> list[int]:
    """Tests of these kinds, those that fail most often beside others first: an order that later questions do not change."""
    told = kinds(records, into.poisoned)
    often = records.ledger.failures(*together(records))
    return sorted((t for t, kind in told.items() if kind in wanted), key=lambda t: (-int(often[t]), t))


def _alone(records: Records, into: Study) -> None:
    """Each suspect in a process of its own, which also shows what it touches."""
    if not records.has(ALONE):
        return
    suspects = [int(t) for t in records.ledger.suspects() if t not in into.poisoned and t != records.ledger.process]
    records.all_of(partial(_ask_alone, records, test, ALONE_RUNS) for test in suspects[:MOST_ALONE])


def _ask_alone(records: Records, test: int, times: int) -> None:
    records.ask(f"alone {test}", ALONE, (test,), times, look=True, phase="suspects alone")


def _always(records: Records, into: Study) -> None:
    """Tests that have failed in every run so far: enough runs to call that a rule."""
    ledger, needed = records.ledger, runs_for_always(records.level)
    failures, runs = (of(*ledger.conditions()) for of in (ledger.failures, ledger.runs))
    for test in ledger.suspects():
        if failures[test] == runs[test] < needed and int(test) not in into.poisoned:
            records.whole(reference(records), ledger.count(reference(records).name) + 1, "does it always fail")


def _contrasts(records: Records, into: Study) -> None:
    """Two ways in turns until each test that is open is told apart, or it does not look as if it would be."""
    base = reference(records)
    ways = [(together(records), crowded(records))] if together(records) else []
    ways += [((BUSY.name,), BUSY)] if records.has(BUSY) else []
    for names, worse in ways:
        still = [test for test in _open(records, into, "not settled") if _worth(records, test, names)]
        if still:
            seen = {way: _results(records, still, of) for way, of in ((base, apart(records)), (worse, names))}
            left = max(1, 2 * (runs_for_always(records.level / 2) + 1) - sum(seen.values()))
            raise Missing([Wish(way, phase=f"{worse.name} against {base.name}") for way in _turns(seen, left)], sure=1)


def _worth(records: Records, test: int, names: tuple[str, ...]) -> bool:
    """Could more runs tell? It fails in these ways, has not failed one at a time, and there is room."""
    ledger, one_at_a_time = records.ledger, apart(records)
    seen = ledger.failures(*names)[test] > 0 and ledger.failures(*one_at_a_time)[test] == 0
    room = min(ledger.count(*names), ledger.count(*one_at_a_time)) < MOST_CONTRAST
    return bool(seen) and room


def _results(records: Records, tests: Sequence[int], names: tuple[str, ...]) -> int:
    """Of the test with the fewest."""
    return int(records.ledger.runs(*names)[list(tests)].min())


def _beside_strangers(records: Records, into: Study) -> None:
    """Other programs come and go on the GPU: more runs, so that both times are seen."""
    there = [bool(batch.strangers) for batch in records.ledger.batches]
    if any(there) and not all(there) and _open(records, into, "not settled"):
        records.whole(reference(records), STRANGE, "other programs on the GPU")


def _again_alone(records: Records, into: Study) -> None:
    """Tests that fail one at a time now and then: do they so alone? Until both has been seen, or often enough."""
    if not records.has(ALONE):
        return
    ledger = records.ledger
    done, failures = ledger.runs(ALONE.name), ledger.failures(*apart(records))
    again = [t for t in _open(records, into, "not settled")[:MOST_ALONE] if failures[t] and done[t] < ALONE_MOST]
    records.all_of(partial(_ask_alone, records, t, int(done[t]) + 1) for t in again if t != ledger.process)


def _companies(records: Records, into: Study) -> None:
    """Concurrent failures: the smallest company of one of them, then of one that the cause found there does not explain."""
    beside = _open(records, into, "concurrency-dependent")
    remaining = list(beside)
    for _ in range(MOST_BLAMES):
        if not remaining:
            return
        test = remaining[0]
        found = company(records, test, remaining[1:] or beside)
        if found:
            into.companies[test] = found
        else:
            into.searched.add(test)
        explained = explained_by(records, found, remaining) if found else ()
        remaining = [one for one in remaining if one != test and one not in explained]


def explained_by(records: Records, found: Company, tests: Sequence[int]) -> tuple[int, ...]:
    """The tests that touch what the company's run accuses; a death of the process is explained by the run it is seen in."""
    accused = {one.kernel for one in (found.run.look.accused if found.run.look else ()) if one.kernel}
    same = [t for t in tests if accused & touched(records, t)]
    return (*same, *((found.test,) if accused and found.test == records.ledger.process else ()))


def touched(records: Records, test: int) -> frozenset[str]:
    """The kernels that a test uses when it is alone."""
    alone = [batch for batch in records.ledger.asked.get(f"alone {test}", ()) if batch.look]
    return frozenset(kernel for batch in alone if batch.look for kernel in batch.look.kernels)


def _sweep(records: Records, into: Study) -> None:
    """From how many at a time on does it fail? A few runs of each number: they decide nothing, and are shown."""
    if _open(records, into, "concurrency-dependent"):
        records.in_turns(SWEEP, SWEPT, "how many at a time")


def _inform(records: Records) -> None:
    """A few runs with waits and with delays: they name no cause, and are shown."""
    calls = any(batch.look and batch.look.calls for batch in records.ledger.batches)
    if not calls or not len(records.ledger.suspects()):
        return
    records.in_turns((SERIALISED, PERTURBED), INFORM, "waits and delays")
