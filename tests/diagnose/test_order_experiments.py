"""Experiments at the two calls of an order finding, in a lab without processes whose probabilities are known."""

from __future__ import annotations

from collections import Counter

import pytest
from fake_lab import ON_OPENCL, FakeLab, suggests
from test_investigate import run, status

from gpudx.investigate.loop import Result
from gpudx.model import Investigation, Row

RACE = "unordered-access"
AT_SITES = ("held", "edge", "held-edge")
NAMED = (suggests(RACE, "confirmed"),)


def lab(fails: dict[str, float], **more: object) -> FakeLab:
    return FakeLab(fails, NAMED, experiments=(*ON_OPENCL, *AT_SITES), threads=1, **more)  # type: ignore[arg-type]


def row(state: Investigation, cause: str = RACE) -> Row:
    return next(one for one in state.table if one.cause == cause)


def test_a_race_that_one_plain_run_of_many_shows_is_held_too() -> None:
    """One failure gives no rate to compare with; the runs that hold it back are compared with each other."""

    class Once(FakeLab):
        def run(self, experiment: str, state: Investigation) -> Result:
            self.fails = {**self.fails, "recorded": float(not self.made)}
            return super().run(experiment, state)

    made = Once({"recorded": 1.0, "held": 1.0, "held-edge": 0.0}, NAMED, experiments=(*ON_OPENCL, *AT_SITES), threads=1)
    state = run(made)
    assert row(state).status == "confirmed" and Counter(made.made)["held-edge"] >= 5, row(state)


def test_a_race_that_no_plain_run_shows_is_confirmed_where_it_is_held_and_mended() -> None:
    """And nothing else is run for it."""
    made = lab({"recorded": 0.0, "held": 1.0, "held-edge": 0.0})
    state = run(made)
    assert (row(state).status, state.stopped) == ("confirmed", "settled")
    assert row(state).reason.startswith("Under held-edge the failure is gone (0 of ")
    counts = Counter(made.made)
    assert counts["recorded"] == 6 and counts["held"] >= 8 and counts["held-edge"] >= 5
    assert set(counts) == {"recorded", "held", "held-edge"}
    assert "the outcome was wrong in" in state.told[-1]


def test_an_outcome_that_does_not_show_it_refutes_nothing() -> None:
    made = lab({"recorded": 0.0})
    state = run(made)
    assert row(state).status == "confirmed" and "record" not in made.made, "as the record alone has it"
    assert "held-edge" not in row(state).reason and state.stopped == "the failure did not reproduce"
    assert "held-edge" not in made.made and "which refutes nothing" in state.told[-1]


def test_a_delay_that_matters_in_another_way_says_nothing() -> None:
    state = run(lab({"recorded": 0.0, "held": 1.0, "held-edge": 1.0}))
    assert not [cell for cell in row(state).cells if cell.weight != "nothing"] and state.stopped != "settled"
    assert "another way" in state.told[-1]


def test_calls_that_never_come_are_not_tried_for_long() -> None:
    made = lab({"recorded": 0.0}, not_reached=AT_SITES)
    state = run(made)
    assert Counter(made.made)["held"] == 2 and not state.told


def test_the_machine_must_not_have_changed_meanwhile() -> None:
    """The runs under held pass, too, once the machine is another."""
    state = run(lab({"recorded": 0.0, "held": 1.0, "held-edge": 1.0}, quiet_from=15))
    assert not [cell for cell in row(state).cells if cell.weight == "for"]


def test_a_failure_that_comes_by_itself() -> None:
    """Rivals that forbid nothing there must be refuted first, by their own experiments."""
    rates = {
        "recorded": 0.4,
        "held": 1.0,
        "held-edge": 0.0,
        "edge": 0.0,
        "poisoned": 0.9,
        "fenced": 0.9,
        "low-fenced": 0.9,
    }
    state = run(lab(rates))
    assert row(state).status == "confirmed", state.table
    assert status(state)["out-of-bounds-access"] == "refuted" and status(state)["order-or-timing"] != "confirmed"


@pytest.mark.parametrize(
    "rates",
    [
        {"recorded": 0.5},
        {"recorded": 0.5, "held": 1.0, "held-edge": 1.0},
        {"recorded": 0.0, "held": 0.5, "held-edge": 0.5},
        {"recorded": 0.5, "edge": 1.0, "held-edge": 1.0},
    ],
)
def test_an_innocent_pair_is_not_confirmed_by_these(rates: dict[str, float]) -> None:
    """The pair is in the record, and the failure comes from elsewhere."""
    wrong = 0
    for seed in range(40):
        made = FakeLab(rates, (suggests(RACE, "likely"),), experiments=AT_SITES, threads=1, seed=seed)
        state = run(made)
        wrong += any(one.cause == RACE and one.status == "confirmed" for one in state.table)
        assert not any(one.cause == RACE and one.status == "refuted" for one in state.table)
    assert wrong <= 1
