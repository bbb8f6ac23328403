"""Runs that remove one kind of fault each, from hand-made trials: what they confirm, and what they leave open."""

from __future__ import annotations

import pytest

from gpudx.investigate import which_memory
from gpudx.model import Allocation, Case, Diagnosis, Evidence, Guilty, Investigation, Outcome, Trial

FAILS, PASSES = "reproduced", "passed"
CASE = Case(("app",), "", "", "", Outcome("exit", 1, None, 0.1))


def suspect(cause: str) -> Diagnosis:
    guilty = Guilty("hip", "hipLaunchKernel", 7, "k", 1, 0, allocation=Allocation("buffer #1", 64, "live"))
    return Diagnosis(cause, "likely", "A sentence.", guilty, None, (Evidence("seen"),), "", ())


def state(cause: str, **outcomes: str) -> Investigation:
    """Each experiment twice, between two plain runs, of which the second is still to come."""
    made = [Trial(name, outcome, outcome, 1.0) for name, outcome in outcomes.items() for _ in range(2)]
    zeros = Trial("poisoned", FAILS, FAILS, 1.0, fresh="zero")
    trials = (Trial("recorded", FAILS, FAILS, 1.0), *made, zeros)
    return Investigation(0.99, trials=trials, before=(suspect(cause),), symptom="device error")


def concluded(before: Investigation) -> Diagnosis | None:
    plain = Trial("recorded", FAILS, FAILS, 1.0)
    case = Case(CASE.command, "", "", "", CASE.outcome, diagnosis=before.before)
    return which_memory.entry(before, plain, case, ())


@pytest.mark.parametrize(("cause", "name"), [("host-pointer-on-device", "xnack"), ("wrong-device-pointer", "peers")])
def test_memory_that_becomes_reachable_confirms_what_was_out_of_reach(cause: str, name: str) -> None:
    found = concluded(state(cause, kept=FAILS, roomy=FAILS, **{name: PASSES}))
    assert found is not None and (found.cause, found.status) == (cause, "confirmed")
    assert any("freed memory kept, room after every buffer or zeros" in one.text for one in found.evidence)


@pytest.mark.parametrize("outcomes", [{"xnack": FAILS}, {"xnack": PASSES, "roomy": PASSES}, {"xnack": "another failure"}])
def test_a_pointer_is_not_blamed_where_something_else_helps_or_nothing(outcomes: dict[str, str]) -> None:
    assert concluded(state("host-pointer-on-device", **{"kept": FAILS, "roomy": FAILS} | outcomes)) is None


def test_memory_in_reach_confirms_no_other_suspicion() -> None:
    assert concluded(state("out-of-bounds-access", kept=FAILS, roomy=FAILS, xnack=PASSES)) is None
