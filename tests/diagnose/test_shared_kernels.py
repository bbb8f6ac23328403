"""A kernel object that threads share: decided by turns before other instruments look, and not outranked by what follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_decisive import case, entry
from test_judge import EXITED, fault, site

from gpudx.investigate import decisive, shared_kernels
from gpudx.investigate.conclude import entries_of
from gpudx.investigate.shared_kernels import CAUSE, EXPERIMENT, FOLLOWS
from gpudx.model import Failure, Investigation, Trial

SHARED = replace(entry(CAUSE, "likely"), observed=False, findings=("1:aa",))
READ = replace(entry("read-before-write", "confirmed"), findings=("1:bb",))
RUNNABLE = (EXPERIMENT, "checked", "fenced")


def trials(*outcomes: tuple[str, bool]) -> tuple[Trial, ...]:
    return tuple(Trial(name, "reproduced" if fails else "passed", "exit:1" if fails else "passed", 1.0) for name, fails in outcomes)


def state(*outcomes: tuple[str, bool], before: tuple[object, ...] = (SHARED,), **more: object) -> Investigation:
    made = trials(("recorded", True), *outcomes)
    return Investigation(0.99, made, Failure("exit:1", ""), before, symptom="wrong result", **more)  # type: ignore[arg-type]


def wanted(one: Investigation) -> str:
    step = decisive.next_step(one, RUNNABLE)
    return step.experiment if step else ""


def test_turns_come_before_instruments() -> None:
    assert wanted(state()) == EXPERIMENT
    assert wanted(state(before=())) != EXPERIMENT, "nothing suggests it"
    assert wanted(state(before=(replace(SHARED, status="inconclusive"),))) != EXPERIMENT


def test_turns_that_do_not_help_leave_the_plan_to_instruments() -> None:
    assert wanted(state((EXPERIMENT, True))) == "checked"


def decided() -> tuple[Trial, ...]:
    one = state()
    while (step := shared_kernels.next_run(one, RUNNABLE)) is not None:
        one = replace(one, trials=(*one.trials, *trials((step.experiment, step.experiment == "recorded"))))
        assert len(one.trials) < 30
    return one.trials


def test_turns_that_help_every_time_decide() -> None:
    finding = replace(fault(), id=CAUSE, causes=(CAUSE,), site=site(9, launch=1))
    found = shared_kernels.entry(decided(), case(EXITED, finding))
    assert found is not None and (found.cause, found.status, found.observed) == (CAUSE, "confirmed", True)
    assert shared_kernels.entry(decided()[:-1], case(EXITED, finding)) is None, "it has not failed again often enough"
    assert shared_kernels.entry(decided(), case(EXITED)) is None


@pytest.mark.parametrize("cause", ["read-before-write", "out-of-bounds-access", "race-in-kernel"])
def test_what_can_follow_from_it_does_not_outrank_it(cause: str) -> None:
    told = entries_of(state(found=(replace(READ, cause=cause),)))
    assert told[0].cause == CAUSE and not any(one.status == "confirmed" for one in told)


def test_what_can_follow_from_it_says_so() -> None:
    (first, second) = entries_of(state(found=(replace(READ, cause="race-in-kernel"),)))
    assert (first.cause, second.status, second.reason) == (CAUSE, "likely", FOLLOWS)


def test_what_cannot_follow_from_it_keeps_its_place() -> None:
    told = entries_of(state(found=(replace(READ, cause="argument-order"),)))
    assert [one.cause for one in told][:2] == ["argument-order", CAUSE] and told[0].status == "confirmed"


def test_without_it_in_the_plain_runs_nothing_changes() -> None:
    """An instrument that slows one thread down can make two of them meet that never do."""
    told = entries_of(state(before=(), found=(READ, SHARED)))
    assert told[0].cause == "read-before-write"
