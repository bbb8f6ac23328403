"""An investigation that calls itself settled names a cause on its screen, whatever its runs showed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from fake_lab import FAILURE, FakeLab

from gpudx.investigate.conclude import conclude, entries_of
from gpudx.investigate.loop import Limits, Result, investigate
from gpudx.investigate.observed import PLAIN
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Access, Case, Diagnosis, Evidence, Guilty, Investigation, Outcome
from gpudx.report import Page, screen

EXPERIMENTS = (
    *("fenced", "memcheck", "initcheck", "synccheck", "racecheck", "global-races", "shared-memory", "numbers", "poisoned"),
    *("low-fenced", "close-fenced", "serialised", "watched", "dump"),
)
CAUSES = ("read-before-write", "race-in-kernel", "out-of-bounds-access", "barrier-misuse", "not-a-number", "unordered-access", "hang")
SYMPTOMS = ("no failure", "no failure", "wrong result", "device error", "crash", "hang")


@dataclass
class AnyLab(FakeLab):
    """Instruments show causes at random; the first plain run decides the symptom."""

    symptom: str = "no failure"
    shows_at: float = 0.2
    experiments: tuple[str, ...] = EXPERIMENTS

    def run(self, experiment: str, state: Investigation) -> Result:
        made = super().run(experiment, state)
        trial = replace(made.trial, fresh=UNLIKE[len(state.trials) % len(UNLIKE)], output=self.random.choice("aaab"), given="g")
        entries: tuple[Diagnosis, ...] = ()
        if experiment != PLAIN and self.random.random() < self.shows_at:
            entries = (self.entry(),)
            trial = replace(trial, shown=(entries[0].cause,))
        failure = FAILURE if experiment == PLAIN and trial.outcome == "reproduced" else None
        return Result(trial, entries, failure, self.symptom if experiment == PLAIN else "")  # type: ignore[arg-type]

    def entry(self) -> Diagnosis:
        cause, status = self.random.choice(CAUSES), self.random.choice(("confirmed", "likely", "inconclusive"))
        guilty = self.random.choice((None, Guilty(api="cuda", call="cuLaunchKernel", kernel="k", launch=1)))
        access = self.random.choice((None, Access(kind="read", kernel="k", space=self.random.choice(("shared", "global")))))
        seen = self.random.random() < 0.5
        return Diagnosis(cause, status, f"It is {cause}.", guilty, None, (Evidence("seen"),), "", (), observed=seen, access=access)  # type: ignore[arg-type]


def ended(seed: int) -> tuple[Investigation, Case]:
    draw = random.Random(seed)
    symptom = draw.choice(SYMPTOMS)
    fails = 0.0 if symptom == "no failure" else draw.choice((0.5, 1.0))
    lab = AnyLab({PLAIN: fails, "shared-memory": draw.choice((fails, 1.0))}, seed=seed, symptom=symptom, threads=draw.choice((1, 2)))
    state = investigate(Investigation(0.99), lab, Limits(draw.choice((20.0, 60.0))))
    kind = "passed" if symptom == "no failure" else "exit"
    case = Case(("./app",), "", "", "", Outcome(kind, "The program ended.", 0 if kind == "passed" else 1, 1.0))  # type: ignore[arg-type]
    return state, conclude(replace(case, directory="case"), state)


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_a_settled_investigation_names_its_cause(start: int) -> None:
    for seed in range(start, start + 50):
        state, case = ended(seed)
        shown = screen.render(case, Page(100)).split("\n")
        best = case.diagnosis[0].status if case.diagnosis else "none"
        assert "SETTLED" not in shown[0], (seed, shown)
        assert state.stopped != "settled" or best in ("confirmed", "likely"), (seed, state.reason, case.diagnosis)


@dataclass
class SteadyLab(FakeLab):
    """A wrong result in every run; the record suggests a cause, and no instrument sees anything."""

    experiments: tuple[str, ...] = EXPERIMENTS

    def run(self, experiment: str, state: Investigation) -> Result:
        made = super().run(experiment, state)
        likely = Diagnosis("argument-type", "likely", "A float is passed for a double.", None, None, (Evidence("seen"),), "", ())
        trial = replace(made.trial, fresh=UNLIKE[len(state.trials) % len(UNLIKE)], output="same", given="g")
        failure = FAILURE if experiment == PLAIN else None
        return Result(trial, (likely,), failure, "wrong result" if experiment == PLAIN else "")


def test_a_steady_failure_that_no_rate_decides_is_not_run_again_and_again() -> None:
    lab = SteadyLab({PLAIN: 1.0}, threads=1)
    state = investigate(Investigation(0.99), lab, Limits(120.0))
    counts = {name: lab.made.count(name) for name in set(lab.made)}
    assert counts["memcheck"] == counts["fenced"] == counts["initcheck"] == 1 and counts[PLAIN] == 3, counts
    assert state.stopped == "nothing left that separates them"
    assert entries_of(state)[0].cause == "argument-type"


def test_a_failure_that_comes_and_goes_still_gets_its_rates() -> None:
    lab = SteadyLab({PLAIN: 0.5, "serialised": 0.0}, threads=1, seed=3)
    investigate(Investigation(0.99), lab, Limits(120.0))
    assert lab.made.count(PLAIN) > 3


def test_a_program_that_passes_is_not_called_a_failure_without_a_cause() -> None:
    lab = AnyLab({PLAIN: 0.0}, symptom="no failure", shows_at=0.0)
    state = investigate(Investigation(0.99), lab, Limits(5.0))
    case = conclude(replace(Case(("./app",), "", "", "", Outcome("passed", "It ended.", 0, 1.0)), directory="case"), state)
    shown = screen.render(case, Page(100))
    assert state.stopped == "budget used up" and "NO FAULT FOUND SO FAR" in shown and "NO CAUSE" not in shown
