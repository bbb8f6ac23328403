"""How each hypothesis of a user stands after what was recorded.

confirmed      what was expected of the rows is so
refuted        it is not so
inconclusive   the program never got there, the values were not recorded, the case holds no such run, or the predicate
               is true of the launch that failed and of launches that succeeded alike: then it explains nothing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts.evaluate import Answer, answer
from gpudx.contracts.fault import Fault, fault_of
from gpudx.contracts.hypotheses import EXPECT, EXPERIMENTS, Claim
from gpudx.contracts.language import ALLOCATIONS, LAUNCHES
from gpudx.contracts.launches import Launches, launches_like
from gpudx.contracts.tables import Allocations, Errors
from gpudx.contracts.telling import sides, used
from gpudx.facts import Facts
from gpudx.model import Case, Evidence, Hypothesis, Prediction, Status, Verdict
from gpudx.text import plural

Bool = NDArray[np.bool_]
MOST_SHOWN = 3


@dataclass
class _Seen:
    """Rows of which the predicate is true, false, and not known; with the first of each kind as evidence."""

    true: int = 0
    false: int = 0
    unknown: int = 0
    outside: int = 0  # that `where` leaves out
    reasons: Counter[str] = field(default_factory=Counter)
    holds: list[Evidence] = field(default_factory=list)
    fails: list[Evidence] = field(default_factory=list)
    at_fault: bool | None = None  # its answer for the launch that failed
    well: int = 0  # launches that succeeded before that, and those of them it is true of
    true_well: int = 0

    @property
    def rows(self) -> int:
        return self.true + self.false + self.unknown


def judge(claims: Sequence[Claim], case: Case, processes: Sequence[Facts]) -> tuple[Verdict, ...]:
    """A verdict for each hypothesis, in the order of the file."""
    fault = fault_of(case)
    return tuple(_verdict(one, case, processes, fault) for one in claims)


def _verdict(claim: Claim, case: Case, processes: Sequence[Facts], fault: Fault | None) -> Verdict:
    missing = _no_experiment(claim, case)
    if missing:
        return Verdict(_hypothesis(claim), "inconclusive", (), (), missing)
    seen = _look(claim, processes, fault)
    gaps = [gap.text for facts in processes for gap in facts.trace.gaps]
    status, reason = _status(claim, seen, len(processes), bool(gaps))
    if fault and status == "confirmed" and claim.expect == "some" and claim.predicate.table is LAUNCHES:
        status, more = _compared(seen, fault)
        reason = f"{reason} {more}"
    counted = seen.holds if seen.true and claim.expect != "all" else seen.fails or seen.holds
    return Verdict(_hypothesis(claim), status, tuple(counted), tuple(_not_counted(seen, gaps)), reason)


def _hypothesis(claim: Claim) -> Hypothesis:
    wanted = f'"{claim.predicate.text}" is true of {EXPECT[claim.expect]} the {claim.subject}'
    predicts = (Prediction(claim.experiment, "shown", wanted),)
    return Hypothesis(claim.name, claim.claim, predicts, f"It would be wrong that {wanted}.", ())


def _no_experiment(claim: Claim, case: Case) -> str:
    """Why this case cannot decide it, "" if it can. A tool that did not work is no experiment."""
    runs = [seen.ways for seen in case.observations]
    kinds_made = {kind for ways in runs for kind in ways.kinds} | {seen.experiment for seen in case.observations}
    known = {"recorded": bool(runs), "sanitized": any(ways.check for ways in runs)}
    held = known.get(claim.experiment, claim.experiment in kinds_made)
    if not held:
        return f"The case holds no {claim.experiment} run ({EXPERIMENTS[claim.experiment]}), so this was not tested."
    kinds = {"recorded": ("recorder",), "serialised": ("recorder",), "fenced": ("recorder", "fence")}
    wanted = kinds.get(claim.experiment)
    for one in case.instruments:
        if one.failed and one.name != "contracts" and (wanted is None or one.name.startswith(wanted)):
            return f"The {one.name} did not work, so this was not tested: {one.saw}"
    return ""


# ---- rows ----


def _look(claim: Claim, processes: Sequence[Facts], fault: Fault | None) -> _Seen:
    seen = _Seen()
    for facts in processes:
        if claim.predicate.table is LAUNCHES:
            for table in launches_like(facts, claim.kernel, claim.names):
                _count_launches(claim, table, seen, fault)
        else:
            rows = Allocations(facts) if claim.predicate.table is ALLOCATIONS else Errors(facts)
            told = answer(claim.predicate, rows)
            _count(seen, told, np.ones(len(rows), bool))
            seen.holds += [rows.told(int(place)) for place in np.flatnonzero(told.true)[: MOST_SHOWN - len(seen.holds)]]
            seen.fails += [
                rows.told(int(place)) for place in np.flatnonzero(told.false)[: MOST_SHOWN - len(seen.fails)]
            ]
    return seen


def _count(seen: _Seen, told: Answer, among: Bool) -> None:
    seen.true += int((told.true & among).sum())
    seen.false += int((told.false & among).sum())
    seen.unknown += int((told.unknown & among).sum())
    seen.reasons.update(told.reasons(among))


def _count_launches(claim: Claim, table: Launches, seen: _Seen, fault: Fault | None) -> None:
    every = np.ones(len(table), bool)
    applies = answer(claim.where, table) if claim.where else Answer(every, ~every, ())
    told = answer(claim.predicate, table)
    unsure = applies.unknown & ~told.false if claim.expect != "all" else applies.unknown & ~told.true
    _count(seen, told, applies.true)
    seen.unknown += int(unsure.sum())
    seen.outside += int((applies.false | (applies.unknown & ~unsure)).sum())
    seen.reasons.update(applies.reasons(unsure))
    seen.holds += _shown(claim, table, told.true & applies.true, seen.holds)
    seen.fails += _shown(claim, table, told.false & applies.true, seen.fails)
    if fault and fault.pid in (table.facts.trace.pid, None):
        here, well = fault.among(table)
        if (here & applies.true).any():
            seen.at_fault = bool((told.true & here).any()) if not (told.unknown & here).any() else None
        seen.well += int((well & applies.true).sum())
        seen.true_well += int((well & applies.true & told.true).sum())


def _shown(claim: Claim, table: Launches, places: Bool, already: Sequence[Evidence]) -> list[Evidence]:
    return [_launch(claim, table, int(p)) for p in np.flatnonzero(places)[: max(MOST_SHOWN - len(already), 0)]]


def _launch(claim: Claim, table: Launches, place: int) -> Evidence:
    row = int(table.rows[place])
    values = sides(claim.predicate, table, place)
    given = used(claim.predicate, table, place)
    text = f"launch {row + 1:,} of kernel {table.kernel}{values}{f': {given}' if given else ''}"
    return Evidence(text, (int(table.facts.launches.position[row]) + 1,))


def _not_counted(seen: _Seen, gaps: Sequence[str]) -> Iterator[Evidence]:
    for reason, count in seen.reasons.most_common():
        yield Evidence(f"{reason}: {plural(count, 'row')} not counted")
    if seen.outside:
        yield Evidence(f"`where` leaves out {plural(seen.outside, 'launch', 'launches')}")
    yield from (Evidence(gap) for gap in gaps)


# ---- the verdict ----


def _status(claim: Claim, seen: _Seen, processes: int, gaps: bool) -> tuple[Status, str]:
    subject, rows = claim.subject, seen.rows
    of_errors = subject == "failing calls"
    if not processes or (not rows and not of_errors):
        also = f" ({plural(seen.outside, 'launch', 'launches')} left out by `where`)" if seen.outside else ""
        return (
            "inconclusive",
            f"Not reached: no {subject} were recorded{also}, so there is no evidence for or against it.",
        )
    decisive = seen.false if claim.expect == "all" else seen.true
    if decisive:
        right: Status = "confirmed" if claim.expect == "some" else "refuted"
        return right, f"It is {'false' if claim.expect == 'all' else 'true'} of {decisive:,} of {rows:,} {subject}."
    if seen.unknown:
        first = next(iter(seen.reasons), "values were not recorded")
        return "inconclusive", f"It could not be decided for {seen.unknown:,} of {rows:,} {subject}: {first}."
    if gaps:
        return (
            "inconclusive",
            f"It is true of all {subject} that were kept ({rows:,}), but others are missing from the record.",
        )
    told = (
        f"It is {'true' if claim.expect == 'all' else 'false'} of all {subject} ({rows:,})."
        if rows
        else "No call failed."
    )
    return ("refuted" if claim.expect == "some" else "confirmed"), told


def _compared(seen: _Seen, fault: Fault) -> tuple[Status, str]:
    """Does the predicate tell the launch that failed from those that succeeded?"""
    where = f"launch {fault.launch:,}, which {'failed' if fault.certain else 'most likely failed'}"
    well = plural(seen.well, "launch that succeeded before", "launches that succeeded before")
    if seen.at_fault and seen.true_well:
        return (
            "inconclusive",
            f"It is true of {where}, and of {seen.true_well:,} of the {well} alike: it distinguishes nothing.",
        )
    if seen.at_fault:
        rest = f"and of none of the {well}" if seen.well else "and there is no launch that succeeded to compare it with"
        return "confirmed", f"It is true of {where}, {rest}."
    return "confirmed", f"But it is not true of {where}: it does not explain the failure."
