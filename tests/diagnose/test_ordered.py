"""When a missing order or wait is called the cause: runs drawn with known probabilities, and no processes."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from gpudx.investigate import ordered
from gpudx.investigate.observed import PLAIN, observed
from gpudx.investigate.ordered import EDGE, TRANSFERS, decided, next_run
from gpudx.model import Trial

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


def test_waits_after_launches_come_last_and_only_where_transfers_do_not_decide() -> None:
    runnable = (ordered.TRANSFERS, ordered.SERIALISED)
    trials = play(0, {PLAIN: 1.0, ordered.TRANSFERS: 1.0, ordered.SERIALISED: 0.0}, runnable)
    assert trials[1].experiment == ordered.TRANSFERS and decided(ordered.SERIALISED, observed(trials))
    trials = play(0, {PLAIN: 1.0, ordered.TRANSFERS: 0.0, ordered.SERIALISED: 0.0}, runnable)
    assert ordered.SERIALISED not in {one.experiment for one in trials}
