"""Investigations in a lab without processes, whose probabilities are known: the verdicts, the stops, and how often they err."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from fake_lab import FakeLab, suggests
from support.simulated import times

from gpudx.causes import every as every_cause
from gpudx.investigate.choice import separation
from gpudx.investigate.loop import CONFIDENCE, Limits, Result, investigate
from gpudx.investigate.reach import limits
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Investigation

SHARED = "kernel-shared-by-threads"
LONG = Limits(budget_s=300.0)


def run(lab: FakeLab, limits: Limits = LONG, state: Investigation | None = None) -> Investigation:
    return investigate(state or Investigation(CONFIDENCE), lab, limits)


def status(state: Investigation) -> dict[str, str]:
    return {row.cause: row.status for row in state.table}


def test_a_cause_whose_own_prediction_comes_true_is_confirmed() -> None:
    state = run(FakeLab({"recorded": 0.95, "turns": 0.0}, (suggests(SHARED),)))
    assert status(state)[SHARED] == "confirmed" and state.stopped == "settled"
    assert {cause for cause, how in status(state).items() if how == "refuted"} >= {
        "out-of-bounds-access",
        "order-or-timing",
    }


def test_a_rival_that_would_explain_it_too_must_be_refuted_first() -> None:
    """Without the serialised runs, order or timing is not excluded: turns change the timing as well."""
    left = tuple(name for name in FakeLab({"recorded": 1}).experiments if name != "serialised")
    lab = FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests(SHARED),), experiments=left, not_reached=("one-thread",))
    state = run(lab)
    assert status(state)[SHARED] == "likely"
    row = next(row for row in state.table if row.cause == SHARED)
    assert "order-or-timing" in row.reason


def test_a_prediction_that_fails_refutes() -> None:
    state = run(FakeLab({"recorded": 1.0}, (suggests(SHARED),)))
    assert status(state)[SHARED] == "refuted"
    assert "turns" in next(row.reason for row in state.table if row.cause == SHARED)


def test_serialising_that_helps_is_never_a_cause() -> None:
    state = run(FakeLab({"recorded": 0.9, "serialised": 0.0}))
    assert status(state)["order-or-timing"] == "likely"
    row = next(row for row in state.table if row.cause == "order-or-timing")
    assert "mitigates" in row.reason and "not the cause" in row.reason
    assert "confirmed" not in status(state).values() and status(state)["out-of-bounds-access"] == "refuted"


ON_HIP = ("fenced", "poisoned", "serialised", "amd-serialised", "blocking", "without-sdma")


@pytest.mark.parametrize("wait", ["amd-serialised", "blocking"])
def test_waits_of_the_runtime_that_help_are_never_a_cause(wait: str) -> None:
    """Also where they are the only waits that can be had."""
    state = run(FakeLab({"recorded": 0.9, wait: 0.0}, experiments=("fenced", wait)))
    row = next(row for row in state.table if row.cause == "order-or-timing")
    assert row.status == "likely" and f"Under {wait}" in row.reason and "not the cause" in row.reason
    assert "confirmed" not in status(state).values() and "copy-engines" not in status(state)


def test_a_failure_that_goes_without_the_copy_engines_points_at_the_order_of_copies() -> None:
    state = run(FakeLab({"recorded": 0.9, "without-sdma": 0.0}, experiments=ON_HIP, threads=1))
    row = next(row for row in state.table if row.cause == "copy-engines")
    assert row.status == "likely" and "Under without-sdma" in row.reason and "not the cause" in row.reason
    assert "confirmed" not in status(state).values() and status(state)["order-or-timing"] == "refuted"


def test_copy_engines_are_refuted_by_a_failure_that_stays_without_them() -> None:
    state = run(FakeLab({"recorded": 0.9}, experiments=ON_HIP, threads=1))
    assert status(state)["copy-engines"] == status(state)["order-or-timing"] == "refuted"


def test_an_instrument_that_names_the_fault_confirms_it() -> None:
    shows = {"fenced": "out-of-bounds-access"}
    lab = FakeLab({"recorded": 1.0, "low-fenced": 1.0}, shows=shows)
    assert status(run(lab))["out-of-bounds-access"] == "confirmed"


class Serialised(FakeLab):
    """The device reports a fault, and a wait behind each launch is told of it; a plain run names no launch."""

    named: str = "confirmed"

    def run(self, experiment: str, state: Investigation) -> Result:
        self.suggested = (suggests("out-of-bounds-access", self.named),) if experiment == "serialised" else ()
        return super().run(experiment, state)


def test_a_fault_that_the_device_reports_behind_the_very_launch_is_shown() -> None:
    """Fences that saw nothing do not refute what the device itself has said."""
    state = run(Serialised({"recorded": 1.0}, shows={"serialised": "out-of-bounds-access"}, threads=1))
    assert status(state)["out-of-bounds-access"] == "confirmed" and status(state)["order-or-timing"] == "refuted"
    assert next(row for row in state.table if row.cause == "out-of-bounds-access").reason.startswith("Under serialised")


def test_waits_that_name_no_certain_launch_confirm_nothing() -> None:
    lab = Serialised({"recorded": 1.0}, shows={"serialised": "out-of-bounds-access"}, threads=1, blind="no fence")
    lab.named = "likely"
    assert status(run(lab))["out-of-bounds-access"] == "likely"
    silent = run(FakeLab({"recorded": 1.0}, threads=1, blind="no fence"))
    assert status(silent)["out-of-bounds-access"] == "inconclusive"


def test_an_instrument_that_could_not_watch_refutes_nothing() -> None:
    state = run(FakeLab({"recorded": 1.0}, threads=1, blind="3 allocations had no fence"))
    assert status(state)["out-of-bounds-access"] == "inconclusive"


def test_a_fault_in_the_record_is_shown_although_no_plain_run_fails() -> None:
    freed = (suggests("use-after-free", "confirmed"),)
    shown = run(FakeLab({"recorded": 0.0, "fenced": 1.0}, freed, {"fenced": "use-after-free"}))
    assert status(shown) == {"use-after-free": "confirmed"} and shown.stopped == "settled" and shown.failure is None
    assert "fenced" in shown.table[0].reason and len(shown.trials) <= 9
    silent = run(FakeLab({"recorded": 0.0}, freed))
    assert silent.stopped == "the failure did not reproduce" and "fenced" not in silent.table[0].reason
    nothing = run(FakeLab({"recorded": 0.0}, (suggests("use-after-free", "likely"),)))
    assert nothing.stopped == "the failure did not reproduce" and not nothing.table


def test_a_blind_instrument_does_not_keep_a_cause_alive() -> None:
    """Poison never sees all reads of fresh memory; the tool that does saw none."""
    names = ("initcheck", "poisoned", "serialised")
    state = run(HalfBlind({"recorded": 1.0}, experiments=names, threads=1))
    assert status(state)["read-before-write"] == "refuted"


@dataclass
class Patterns(FakeLab):
    """Fresh memory holds another pattern in each poisoned run; `given` says what comes back of each."""

    given: Mapping[str, str] = field(default_factory=dict)
    blind: str = "computed with"

    def run(self, experiment: str, state: Investigation) -> Result:
        pattern = UNLIKE[self.made.count(experiment) % len(UNLIKE)]
        result = super().run(experiment, state)
        if experiment != "poisoned":
            return result
        given = self.given.get(pattern, "always the same")
        return replace(result, trial=replace(result.trial, fresh=pattern, given=given, output="printed"))


def test_what_comes_back_the_same_whatever_fresh_memory_holds_does_not_depend_on_it() -> None:
    state = run(Patterns({"recorded": 1.0}, threads=1))
    assert status(state)["read-before-write"] == "refuted"
    assert "no byte that is read back" in next(row for row in state.table if row.cause == "read-before-write").reason


@pytest.mark.parametrize("given", [{"zero": "other bytes"}, {"4b": ""}], ids=["it differs", "not all was seen"])
def test_patterns_refute_nothing_where_something_differs_or_was_not_seen(given: dict[str, str]) -> None:
    assert status(run(Patterns({"recorded": 1.0}, threads=1, given=given)))["read-before-write"] == "inconclusive"


def test_patterns_refute_nothing_where_the_outcome_differs() -> None:
    state = run(Patterns({"recorded": 1.0, "poisoned": 0.7}, threads=1))
    assert status(state)["read-before-write"] == "inconclusive"


class HalfBlind(FakeLab):
    def run(self, experiment: str, state: Investigation) -> Result:
        self.blind = "computed with" if experiment == "poisoned" else ""
        return super().run(experiment, state)


def test_an_experiment_without_effect_says_nothing() -> None:
    lab = FakeLab({"recorded": 1.0, "one-thread": 0.0}, not_reached=("one-thread",))
    state = run(lab)
    assert status(state)["threads-collide"] == "inconclusive" and lab.made.count("one-thread") == 2


def test_random_failures_are_inconclusive_with_their_rate() -> None:
    for seed in range(20):
        state = run(FakeLab({"recorded": 0.3}, seed=seed))
        assert set(status(state).values()) <= {"inconclusive", "refuted"}, status(state)
        assert "failure rate" in state.reason and state.stopped in ("nothing left that separates them", "budget used up")


def test_a_cause_that_is_not_in_every_failing_run_is_partial() -> None:
    lab = FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests(SHARED),), not_reached=("one-thread",))
    state = run(lab, Limits(300, 2))
    odd = replace(state.trials[1], fingerprints=(), ending="signal:SIGABRT")
    state = run(lab, LONG, replace(state, trials=(state.trials[0], odd)))
    row = next(row for row in state.table if row.cause == SHARED)
    assert row.status == "likely" and "Partial" in row.reason and "signal:SIGABRT" in row.reason


@pytest.mark.parametrize("quiet_from", range(6, 24))
def test_a_machine_that_changes_confirms_nothing(quiet_from: int) -> None:
    """Passes count for a change only if plain runs fail again after them."""
    state = run(FakeLab({"recorded": 1.0, "turns": 1.0}, (suggests(SHARED),), quiet_from=quiet_from))
    assert "confirmed" not in status(state).values(), status(state)


def test_nothing_is_judged_from_one_run() -> None:
    lab = FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests(SHARED),))
    for runs in range(1, 9):
        state = run(replace(lab, made=[], spent=0.0), Limits(300, runs))
        assert state.stopped == "runs used up" or runs < 2
        assert "confirmed" not in status(state).values()


@pytest.mark.parametrize(
    ("lab", "limits", "stopped"),
    [
        (FakeLab({"recorded": 0.0}), LONG, "the failure did not reproduce"),
        (FakeLab({"recorded": 0.0}), Limits(10), "the failure did not reproduce"),
        (FakeLab({"recorded": 1.0}), Limits(10), "budget used up"),
        (FakeLab({"recorded": 1.0}), Limits(300, 8), "runs used up"),
        (FakeLab({"recorded": 1.0}, interrupt_at=4), LONG, "interrupted"),
        (FakeLab({"recorded": 0.0}, threads=0, launches=0), LONG, "nothing to investigate"),
        (FakeLab({"recorded": 1.0}, experiments=()), LONG, "nothing left that separates them"),
    ],
)
def test_every_end_has_its_name(lab: FakeLab, limits: Limits, stopped: str) -> None:
    state = run(lab, limits)
    assert state.stopped == stopped and state.reason


def test_it_goes_on_where_it_stopped() -> None:
    """The same runs in pieces give the same verdicts, and none of them is made twice."""
    whole = run(FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests(SHARED),)))
    state = None
    for _ in range(len(whole.trials)):
        state = run(FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests(SHARED),)), Limits(300, 1), state)
    assert state is not None and status(state) == status(whole) and state.trials == whole.trials


def test_predictions_that_differ_are_worth_a_run() -> None:
    assert separation(["stays", "gone"]) > separation(["stays", "may change"]) > separation(["stays", "stays"]) == 0


WORLDS = {
    "nothing that is tested changes it": {"recorded": 0.5},
    "often, and nothing changes it": {"recorded": 0.9},
    "always": {"recorded": 1.0},
    "rare": {"recorded": 0.15},
    "turns make it rarer by their timing": {"recorded": 0.8, "turns": 0.4, "one-processor": 0.3, "perturbed": 0.6},
    "a wait hides it, turns change the timing": {"recorded": 0.7, "serialised": 0.0, "turns": 0.2},
}


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_wrong_causes_are_confirmed_in_one_of_a_hundred_at_most(world: str) -> None:
    """Sharing a kernel object is suspected and innocent in all of these worlds."""
    cases = times(350)
    wrong = 0
    for seed in range(cases):
        state = run(FakeLab(WORLDS[world], (suggests(SHARED),), seed=seed), Limits())
        wrong += "confirmed" in status(state).values()
    assert wrong <= math.ceil(0.01 * cases), f"{wrong} of {cases}"


def test_the_guilty_is_found_and_not_refuted() -> None:
    found = refuted = 0
    cases = times(300)
    for seed in range(cases):
        state = run(FakeLab({"recorded": 0.9, "turns": 0.0}, (suggests(SHARED),), seed=seed))
        found += status(state)[SHARED] == "confirmed"
        refuted += status(state)[SHARED] == "refuted"
    assert refuted <= math.ceil(0.01 * cases) and found >= 0.93 * cases, (found, refuted)


def test_whatever_can_refute_a_cause_says_how_far_it_reaches() -> None:
    deciding = ("shown", "gone", "rarer", "more often")
    able = {name for cause in every_cause().values() for name, one in cause.predictions.items() if one.expects in deciding}
    assert able and not [name for name in able if not limits(name)]
