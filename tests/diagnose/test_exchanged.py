"""When two arguments are said to be in each other's place, or a call to use the wrong buffer: runs drawn with known probabilities."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpudx.facts.exchangeable import MOST as PAIRS
from gpudx.facts.redirects import MOST as REDIRECTS
from gpudx.investigate import ordered
from gpudx.investigate.exchanged import REDIRECTED, decided, is_weak, next_run, undecided
from gpudx.investigate.observed import PLAIN, observed
from gpudx.model import Trial

MANY = 1000
MOST_RUNS = 200
NAMES = tuple(f"exchanged:{number}" for number in range(1, PAIRS + 1))


def trial(experiment: str, fails: bool) -> Trial:
    return Trial(experiment, "reproduced" if fails else "passed", "exit:1" if fails else "exit:0", 1.0)


def play(seed: int, plain: float, fails: Mapping[str, float]) -> list[Trial]:
    """All runs that are asked for, after three plain ones."""
    draw = random.Random(seed)
    trials = [trial(PLAIN, draw.random() < plain) for _ in range(3)]
    while (wanted := next_run(trials, NAMES)) is not None:
        rate = plain if wanted.experiment == PLAIN else fails.get(wanted.experiment, plain)
        trials.append(trial(wanted.experiment, draw.random() < rate))
        assert len(trials) < MOST_RUNS
    return trials


def believed(trials: list[Trial]) -> list[str]:
    seen = observed(trials)
    return [name for name in NAMES if name in seen and decided(seen[name], seen[PLAIN])]


@pytest.mark.parametrize("rate", [0.3, 0.5, 0.7, 0.85, 0.95])
def test_a_program_that_fails_sometimes_accuses_no_pair(rate: float) -> None:
    wrong = sum(bool(believed(play(seed, rate, {}))) for seed in range(MANY))
    assert wrong / MANY <= ordered.LEVEL, wrong


def test_the_pair_that_fixes_it_is_named() -> None:
    trials = play(0, 1.0, {NAMES[2]: 0.0})
    assert believed(trials) == [NAMES[2]] and len(trials) <= 20
    assert [one.experiment for one in trials[-2:]] == [PLAIN, PLAIN], "it came back without the change"


def test_no_pair_that_fixes_it_takes_one_run_each() -> None:
    trials = play(0, 1.0, {})
    assert len(trials) == 3 + PAIRS and not believed(trials)


def test_one_failure_with_the_pair_exchanged_ends_it() -> None:
    trials = [trial(PLAIN, True) for _ in range(5)] + [trial(NAMES[0], False), trial(NAMES[0], True)]
    wanted = next_run(trials, NAMES[:1])
    assert wanted is None and not believed(trials)


CALLS = tuple(f"{REDIRECTED}:{number}" for number in range(1, REDIRECTS + 1))


def play_calls(seed: int, plain: float, fails: Mapping[str, float]) -> list[Trial]:
    """The same for calls that are redirected, three plain runs first."""
    draw = random.Random(seed)
    trials = [trial(PLAIN, draw.random() < plain) for _ in range(3)]
    while (wanted := next_run(trials, CALLS, REDIRECTED)) is not None:
        rate = plain if wanted.experiment == PLAIN else fails.get(wanted.experiment, plain)
        trials.append(trial(wanted.experiment, draw.random() < rate))
        assert len(trials) < MOST_RUNS
    return trials


def believed_calls(trials: list[Trial]) -> list[str]:
    seen = observed(trials)
    return [name for name in CALLS if name in seen and decided(seen[name], seen[PLAIN])]


@pytest.mark.parametrize("rate", [0.3, 0.5, 0.7, 0.85, 0.95])
def test_a_program_that_fails_sometimes_accuses_no_call(rate: float) -> None:
    wrong = sum(bool(believed_calls(play_calls(seed, rate, {}))) for seed in range(MANY))
    assert wrong / MANY <= ordered.LEVEL, wrong


def test_every_call_is_tried_once_before_one_is_believed() -> None:
    trials = play_calls(0, 1.0, {CALLS[1]: 0.0, CALLS[10]: 0.0})
    assert believed_calls(trials) == [CALLS[1]]
    first = list(dict.fromkeys(one.experiment for one in trials[3:] if one.experiment != PLAIN))
    assert first == list(CALLS), "in the order of their numbers, not of their names"


@pytest.mark.parametrize(("names", "kind"), [(NAMES, "exchanged"), (CALLS, REDIRECTED)])
def test_a_change_that_passes_is_made_again_before_others_are_tried(names: tuple[str, ...], kind: str) -> None:
    trials = [trial(PLAIN, True)] * 3 + [trial(names[0], True), trial(names[1], False)]
    wanted = next_run(trials, names, kind)
    assert wanted is not None and (wanted.experiment, wanted.runs) == (names[1], 2)
    again = next_run([*trials, trial(names[1], False)], names, kind)
    assert again is not None and again.experiment != names[1]
    other = next_run([*trials, trial(names[1], True)], names, kind)
    assert other is not None and other.experiment == names[2], "it was chance"


def passed_with(*changes: str, plain: int = 3) -> list[Trial]:
    passes = [replace(trial(name, False), change=f"change {name}") for name in changes]
    return [trial(PLAIN, True)] * plain + [trial(CALLS[5], True), *passes]


def test_a_change_with_which_it_passed_is_mentioned() -> None:
    assert undecided(passed_with(CALLS[0])) == f"It passed with change {CALLS[0]} (1 run)."
    assert "(2 runs)" in undecided(passed_with(CALLS[0], CALLS[0]))


def test_changes_that_decide_nothing_are_not_mentioned() -> None:
    assert not undecided(passed_with())
    assert not undecided(passed_with(*CALLS[:4])), "it passes with whatever is changed"
    assert not undecided([*passed_with(CALLS[0]), trial(CALLS[0], True)]), "it failed with it, too"
    assert not undecided([*passed_with(CALLS[0]), trial(PLAIN, False)]), "it passes without it, too"


def test_calls_are_tried_before_two_arguments_are_believed() -> None:
    trials = [trial(PLAIN, True)] * 3 + [trial(NAMES[0], False)] * 2
    wanted = next_run(trials, (*NAMES, *CALLS))
    assert wanted is not None and (wanted.experiment, wanted.runs) == (CALLS[0], 1)


def with_numbers(passing: Mapping[str, str]) -> bool:
    """Is the swap of arguments 1 (24) and 2 (50) of k believed, where the program also passes with some other numbers?"""
    notes = {"other-number:1": "k:1:18:32", "other-number:2": "k:2:32:18", "other-number:3": "k:2:32:31", "other-number:4": "m:0:4:5"}
    trials = [trial(PLAIN, True) for _ in range(3)]
    while (wanted := next_run(trials, ("exchanged:1", *notes))) is not None:
        note = {"exchanged:1": "k:1:2", **notes}.get(wanted.experiment, "")
        trials.append(kept(wanted.experiment, wanted.experiment not in ("exchanged:1", *passing), note))
        assert len(trials) < MOST_RUNS
    seen = observed(trials)
    return decided(seen["exchanged:1"], seen[PLAIN]) and not is_weak("exchanged", seen)


def test_swapped_arguments_are_believed_if_no_number_elsewhere_helps() -> None:
    assert with_numbers({})
    assert with_numbers({"other-number:1": ""}), "only one of the two matters to what is checked"
    assert not with_numbers({"other-number:3": ""}), "one less in one of them helps as well"
    assert not with_numbers({"other-number:4": ""}), "another kernel's number helps as well"


@pytest.mark.parametrize("note", ["k:1:2", "k:1:2=app+1a2b;app+1c0d"])
def test_other_pairs_and_the_first_numbers_are_tried_before_a_swap_is_believed(note: str) -> None:
    trials = [trial(PLAIN, True)] * 3 + [kept(NAMES[0], False, note)] * 2
    wanted = [NAMES[1], "other-number:1"]
    for name in wanted:
        following = next_run(trials, (*NAMES[:2], "other-number:1"))
        assert following is not None and following.experiment == name
        trials.append(kept(name, True, "k:3:4:5" if "number" in name else "k:3:4"))
    assert not is_weak("exchanged", observed(trials))
    assert is_weak("exchanged", observed([*trials[:-1], kept("other-number:1", False, "k:3:4:5")]))


def test_a_run_that_was_lost_is_no_number() -> None:
    trials = [kept(NAMES[0], False, "k:1:2"), replace(trial("other-number:1", True), outcome="tool missing", note="OSError: a: b: c: d: e")]
    assert not is_weak("exchanged", observed(trials))


def test_a_program_that_takes_long_is_not_run_for_all_of_them() -> None:
    trials = [replace(trial(PLAIN, True), seconds=50.0)] * 3
    while (wanted := next_run(trials, CALLS, REDIRECTED)) is not None:
        trials.append(trial(wanted.experiment, True))
    assert len(trials) == 3 + 3


def test_a_name_that_stood_for_two_changes_decides_nothing() -> None:
    trials = play_calls(0, 1.0, {CALLS[0]: 0.0})
    assert believed_calls(trials)
    last = max(at for at, one in enumerate(trials) if one.experiment == CALLS[0])
    trials[last] = replace(trials[last], note="clEnqueueReadBuffer=2=0:1>2")
    assert not believed_calls(trials)


def kept(name: str, fails: bool, note: str) -> Trial:
    return Trial(name, "reproduced" if fails else "passed", "exit:1" if fails else "exit:0", 1.0, note=note)


def words(passing: Mapping[int, str]) -> tuple[list[Trial], list[str]]:
    """All runs with changed words of a program that passes with some of them, by number: which line that is."""
    names = [f"edited-kernel:{number}" for number in range(1, 31)]
    trials = [trial(PLAIN, True) for _ in range(3)]
    while (wanted := next_run(trials, names, "edited-kernel")) is not None:
        number = int(wanted.experiment.partition(":")[2] or 0)
        note = f"{passing.get(number, f'line {number}')}: x = {number};"
        trials.append(kept(wanted.experiment, number not in passing, note if number else ""))
        assert len(trials) < MOST_RUNS
    seen = observed(trials)
    return trials, [name for name in names if name in seen and decided(seen[name], seen[PLAIN]) and not is_weak("edited-kernel", seen)]


def test_a_word_is_believed_if_no_other_place_helps() -> None:
    assert words({4: "line 9"})[1] == ["edited-kernel:4"]
    assert words({4: "line 9", 6: "line 9"})[1] == ["edited-kernel:4"], "two ways to write what was meant"


@pytest.mark.parametrize("passing", [{4: "line 9", 7: "line 3"}, dict.fromkeys((4, 5, 6, 7), "line 9")])
def test_a_program_that_passes_with_many_changes_checks_nothing(passing: Mapping[int, str]) -> None:
    """Its status is a result: three records rejected."""
    trials, named = words(passing)
    assert not named and len(trials) < 30
