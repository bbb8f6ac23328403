"""When a missing order or wait is called the cause: runs drawn with known probabilities, and no processes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpudx.investigate import met, ordered
from gpudx.investigate.observed import PLAIN, observed
from gpudx.investigate.ordered import EDGE, TRANSFERS, decided, next_run
from gpudx.model import Diagnosis, Trial

MANY = 2000
MOST_RUNS = 200  # of an investigation, before the test calls it endless


def trial(experiment: str, fails: bool) -> Trial:
    return Trial(experiment, "reproduced" if fails else "passed", "exit:1" if fails else "exit:0", 1.0)


def play(seed: int, fails: Mapping[str, float], runnable: tuple[str, ...] = (EDGE,)) -> list[Trial]:
    """All runs that are asked for, after a first one that failed."""
    draw = random.Random(seed)
    trials = [trial(PLAIN, True)]
    while (wanted := next_run(trials, runnable)) is not None:
        trials.append(trial(wanted.experiment, draw.random() < fails[wanted.experiment]))
        assert len(trials) < MOST_RUNS
    return trials


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8, 0.95])
def test_a_change_that_changes_nothing_is_rarely_believed(rate: float) -> None:
    fails = {PLAIN: rate, EDGE: rate}
    wrong = sum(decided(EDGE, observed(play(seed, fails))) for seed in range(MANY))
    assert wrong / MANY <= ordered.LEVEL, wrong


@pytest.mark.parametrize(("rate", "power"), [(1.0, 1.0), (0.8, 0.95), (0.5, 0.8)])
def test_a_change_that_fixes_it_is_believed(rate: float, power: float) -> None:
    fails = {PLAIN: rate, EDGE: 0.0}
    right = sum(decided(EDGE, observed(play(seed, fails))) for seed in range(200))
    assert right / 200 >= power, right


def test_a_failure_of_every_run_takes_a_dozen_runs() -> None:
    trials = play(0, {PLAIN: 1.0, EDGE: 0.0})
    assert decided(EDGE, observed(trials)) and len(trials) <= 13
    assert [one.experiment for one in trials[-2:]] == [PLAIN, PLAIN], "it came back without the change"


def test_one_failure_with_the_change_ends_it() -> None:
    trials = play(0, {PLAIN: 1.0, EDGE: 1.0})
    assert [one.experiment for one in trials] == [PLAIN, EDGE] and not decided(EDGE, observed(trials))


def test_another_failure_with_the_change_is_no_pass() -> None:
    trials = [trial(PLAIN, True), Trial(EDGE, "another failure", "signal:SIGSEGV", 1.0)]
    assert next_run(trials, (EDGE,)) is None and not decided(EDGE, observed(trials))


def test_a_machine_that_changed_decides_nothing() -> None:
    """It failed in all runs until the change, and in none since, with the change or without it."""
    early, late = [trial(PLAIN, True)] * 5, [trial(EDGE, False)] * 10
    trials = [*early, *late]
    while (wanted := next_run(trials, (EDGE,))) is not None:
        trials.append(trial(wanted.experiment, False))
        assert len(trials) < MOST_RUNS
    assert not decided(EDGE, observed(trials))


def test_races_come_before_transfers_and_each_pair_is_tried() -> None:
    fails = {PLAIN: 1.0, EDGE: 1.0, f"{EDGE}:2": 0.0, TRANSFERS: 0.0}
    trials = play(0, fails, (TRANSFERS, EDGE, f"{EDGE}:2"))
    names = [one.experiment for one in trials]
    assert TRANSFERS not in names and decided(f"{EDGE}:2", observed(trials))


def test_transfers_are_narrowed_down_to_the_first_line_that_matters() -> None:
    lines = [f"{TRANSFERS}:{n}" for n in (1, 2, 3)]
    fails = {PLAIN: 1.0, TRANSFERS: 0.0, lines[0]: 1.0, lines[1]: 0.0, lines[2]: 0.0}
    trials = play(0, fails, (TRANSFERS, *lines))
    assert decided(lines[1], observed(trials)) and lines[2] not in {one.experiment for one in trials}


def test_nothing_is_run_for_a_program_that_does_not_fail() -> None:
    assert next_run([trial(PLAIN, False)] * 3, (EDGE, TRANSFERS)) is None


def test_waits_after_launches_come_last() -> None:
    runnable = (ordered.TRANSFERS, ordered.SERIALISED)
    trials = play(0, {PLAIN: 1.0, ordered.TRANSFERS: 1.0, ordered.SERIALISED: 0.0}, runnable)
    assert trials[1].experiment == ordered.TRANSFERS and decided(ordered.SERIALISED, observed(trials))
    trials = play(0, {PLAIN: 1.0, ordered.TRANSFERS: 0.0, ordered.SERIALISED: 0.0}, runnable)
    made = [one.experiment for one in trials]
    first = made.index(ordered.SERIALISED)
    assert decided(ordered.TRANSFERS, observed(trials[:first])), "then they only say whether the host can be what comes too early"


MEET = "1:cc"  # the finding of a run in which the two operations meet unordered


def meeting(seed: int, meets: float, fails: Mapping[str, float]) -> list[Trial]:
    """As `play`, of a program in which the two operations meet in some runs only: `fails` is of these runs, the others pass."""
    draw = random.Random(seed)
    trials = [Trial(PLAIN, "reproduced", "exit:1", 1.0, (MEET,)), Trial(PLAIN, "passed", "exit:0", 1.0)]
    while (wanted := next_run(trials, (EDGE,))) is not None:
        met = draw.random() < meets
        failed = met and draw.random() < fails[wanted.experiment]
        marks = (MEET,) if met else ()
        trials.append(Trial(wanted.experiment, "reproduced" if failed else "passed", "exit:1" if failed else "exit:0", 1.0, marks))
        assert len(trials) < MOST_RUNS
    return trials


def test_a_rare_failure_is_decided_by_the_runs_in_which_the_operations_meet() -> None:
    runs = [meeting(seed, 0.22, {PLAIN: 1.0, EDGE: 0.0}) for seed in range(200)]
    assert sum(decided(EDGE, observed(one)) for one in runs) / 200 >= 0.95
    assert sum(map(len, runs)) / 200 <= 45, "of all runs taken together it would be hundreds"


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9, 1.0])
def test_a_pair_that_only_comes_with_the_failure_is_rarely_believed(rate: float) -> None:
    runs = [meeting(seed, 0.3, {PLAIN: rate, EDGE: rate}) for seed in range(MANY)]
    assert sum(decided(EDGE, observed(one)) for one in runs) / MANY <= ordered.LEVEL


def test_a_finding_that_is_of_the_failure_itself_says_nothing_of_a_pair() -> None:
    """It is in no run that passed, with the change or without it: all runs are counted, as ever."""
    trials = [Trial(PLAIN, "reproduced", "exit:1", 1.0, (MEET,))] * 5 + [trial(PLAIN, False)] * 5 + [trial(EDGE, False)] * 20
    assert met.of_pair(EDGE, observed(trials)) is None


def test_what_some_such_runs_show_is_likely() -> None:
    entry = Diagnosis("unordered-access", "inconclusive", "", None, None, (), "", (), findings=(MEET,))
    failed, ordered_ = Trial(PLAIN, "reproduced", "exit:1", 1.0, (MEET,)), Trial(EDGE, "passed", "exit:0", 1.0, (MEET,))
    some = [failed, failed, trial(PLAIN, False), ordered_, ordered_]
    told = met.likely(entry, observed(some))
    assert told.status == "likely" and "2 of 2 runs in which the two operations met unordered failed" in told.reason
    assert met.likely(entry, observed(some[:4])).status == "inconclusive", "one run with the change is too few"
    assert met.likely(replace(entry, findings=("1:dd",)), observed(some)).status == "inconclusive"
