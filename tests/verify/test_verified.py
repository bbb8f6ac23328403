"""What runs say about a change, without running anything: every answer has a loud and a silent test."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from support.simulated import times

from gpudx.lab.trials import order
from gpudx.model.verification import Condition, Question, Trial
from gpudx.verify.sentences import judgement, plan
from gpudx.verify.tally import Tally, answer

NAMES: tuple[Condition, ...] = ("before", "after", "revert")
ONE, TWO = "1:aaaa", "1:bbbb"


def question(revert: bool = True, confidence: float = 0.99, at_least: int = 1) -> Question:
    commands = {name: (f"./{name}",) for name in NAMES if revert or name != "revert"}
    return Question(commands, "/", confidence, at_least)


def trial(name: Condition, number: int, letter: str) -> Trial:
    """. passes; 1 and 2 end with that status; a and b are diagnosed crashes; A is a's fault in a run that passes;
    ? passes unwatched; g fails with a's fault behind another one."""
    faults = {"a": (ONE,), "b": (TWO,), "A": (ONE,), "B": (TWO,), "g": (TWO, ONE)}.get(letter, ())
    ending = "passed" if letter in ".AB?" else "signal:SIGSEGV" if faults else f"exit:{letter}"
    return Trial(name, number, ending, faults, f"It ended with {letter}.", letter != "?", 1.0, f"runs/{number}-{name}")


def tally(before: str, after: str, revert: str = "", **more: float) -> Tally:
    rows = {"before": before, "after": after, **({"revert": revert} if revert else {})}
    trials = [trial(n, i, letter) for n in NAMES if n in rows for i, letter in enumerate(rows[n], 1)]
    return Tally(question(bool(revert), **more), tuple(trials))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "revert", "says"),
    [
        ("1111111", ".......", "1111111", "a fix"),
        ("aaaaaaa", ".......", "aaaaaaa", "a fix"),
        ("1111111", ".......", "", "a fix"),
        ("1.1.1.1.1.1.1.", "." * 14, "1.1.1.1.1.1.1.", "a fix"),
        ("111111", "......", "111111", None),  # one round is missing
        ("1111111", ".......", "111111.", None),
        ("1111111", ".......", ".......", "not shown to be the cause"),
        ("1111111", ".......", "2222222", None),  # it fails when reverted, but otherwise
        ("111111111", "111111111", "", "a placebo"),
        ("aaaaaaaaa", "aaaaaaaaa", "aaaaaaaaa", "a placebo"),
        ("aaaaaaaaa", "AAAAAAAAA", "", "a placebo"),  # it no longer crashes, but the fault is in the record
        ("ggggggggg", "bbbbbbbbb", "", "a placebo"),
        ("bbbbbbbbb", "ggggggggg", "", "a placebo"),  # the old fault is there behind another one
        ("11111111", "11111111", "", None),
        ("1" * 20, "1..................." , "", "mitigates"),
        ("1" * 20, "2..................." , "", None),  # one run with another failure may be an accident
        ("111", "222", "", "another failure"),
        ("aaa", "bbb", "", "another failure"),
        ("aaa", "222", "", "another failure"),
        ("...", "111", "", None),  # other than what?
        ("." * 50, "." * 50, "", None),
        ("aaaaaaa", "???????", "", "inconclusive"),  # nobody watched
        ("1111111", "???????", "", "a fix"),  # the exit status needs no watching
        ("AAAAAAA", ".......", "", "a fix"),  # a fault that never made the program fail
        ("AAAAAAA", "BBBBBBB", "", "another failure"),
        ("bAbAbAbAbAbAbA", "A" * 14, "", "a fix"),  # A is there in every run and harms none
        ("aAaAaAaAaAaAaA", "A" * 14, "", "a fix"),  # fails or not, the record is the same: it tells nothing
    ],
)  # fmt: skip
def test_answers(before: str, after: str, revert: str, says: str | None) -> None:
    assert answer(tally(before, after, revert), last=False) == says


@pytest.mark.parametrize(
    ("before", "after", "revert", "says"),
    [
        ("11", "..", "11", "inconclusive"),
        ("..", "..", "..", "inconclusive"),
        ("11", "1.", "11", "a placebo"),
        ("11", "2.", "11", "another failure"),
        ("1111111", ".......", "1......", "not shown to be the cause"),
        ("..", "11", "..", "inconclusive"),
        ("", "", "", "inconclusive"),
    ],
)
def test_answers_when_no_more_runs_can_be_had(before: str, after: str, revert: str, says: str) -> None:
    seen = tally(before, after, revert)
    found = answer(seen, last=True)
    assert found == says
    assert judgement(seen, found).summary.endswith(".")


def test_more_runs_and_more_confidence_are_waited_for() -> None:
    assert answer(tally("1111111", ".......", at_least=8), last=False) is None
    assert answer(tally("11111", ".....", confidence=0.95), last=False) == "a fix"
    assert answer(tally("1" * 10, "." * 10, confidence=0.999), last=False) is None


def test_a_round_that_is_not_finished_does_not_count() -> None:
    seen = tally("1111111", "......", "111111")
    assert len(seen.rounds) == 6 and answer(seen, last=False) is None


def words(before: str, after: str, revert: str = "") -> str:
    seen = tally(before, after, revert)
    found = answer(seen, last=True)
    assert found is not None
    told = judgement(seen, found)
    return " ".join([told.summary, *told.because])


def test_what_is_said() -> None:
    fix = words("1111111", ".......", "1111111")
    assert "in 7 of 7 runs before the change and in none of 7 runs after it; with the change reverted it failed in 7 of 7" in fix
    assert "1 of 100 verifications" in fix and "up to 59% is still possible; --at-least 70 would lower that to 10%" in fix
    assert "--revert" not in fix and "--revert" in words("1111111", ".......")
    less = words("1" * 20, "1...................")
    assert "1 of 20 runs after the change (a rate of 0.0032% to 39%), 20 of 20 runs before (72% to 100%)" in less
    assert "the trace shows the same fault" in words("aaaaaaaaa", "AAAAAAAAA")
    assert "the trace shows the same fault" not in words("aaaaaaaaa", "aaaaaaaaa")
    assert "after (another failure): It ended with 2." in words("111", "222")
    seldom = words("1" + "." * 49, "." * 50)
    assert "7 rounds that fail before and pass after are needed, and there were 1; that takes about 350 rounds" in seldom
    assert "that takes at least" in words("." * 50, "." * 50)
    assert "it was not loaded in runs of after" in words("aaaaaaa", "???????")


def test_the_plan_says_how_many_and_why() -> None:
    text = " ".join(plan(tally("", "", confidence=0.999)))
    assert "99.9% confidence needs 11 rounds" in text and "110 if one run in 10" in text


def rounds(rate: Callable[[Condition], Iterator[str]], most: int) -> str | None:
    """Run rounds, look after each, and stop at the first answer."""
    trials: list[Trial] = []
    for number in range(1, most + 1):
        trials += [trial(name, number, next(rate(name))) for name in NAMES]
        found = answer(Tally(question(), tuple(trials)), last=False)
        if found:
            return found
    return None


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_a_change_that_does_nothing_is_seldom_called_a_fix(p: float) -> None:
    """Simulated with a fixed seed: many verifications, each looked at after every round."""
    dice = random.Random(p)

    def letters(name: Condition) -> Iterator[str]:
        while True:
            yield "a" if dice.random() < p else "."

    found = [rounds(letters, 40) for _ in range(times(300))]
    wrong = 0.01 * len(found)
    assert sum(one in ("a fix", "mitigates") for one in found) <= wrong + 3 * wrong**0.5
    assert "another failure" not in found


def test_failures_that_never_look_the_same_are_not_a_fix() -> None:
    """A fingerprint that differs from run to run must not make a placebo look like a cure."""
    before = [Trial("before", n, "signal:SIGSEGV", (f"1:before{n}",)) for n in range(1, 30)]
    after = [Trial("after", n, "signal:SIGSEGV", (f"1:after{n}",)) for n in range(1, 30)]
    assert answer(Tally(question(revert=False), (*before, *after)), last=True) == "another failure"


def test_the_order_is_drawn_by_lot_and_stays_drawn() -> None:
    drawn = [tuple(order(7, number, NAMES)) for number in range(600)]
    assert drawn == [tuple(order(7, number, reversed(NAMES))) for number in range(600)]
    assert drawn != [tuple(order(8, number, NAMES)) for number in range(600)]
    assert len(set(drawn)) == 6 and min(drawn.count(one) for one in set(drawn)) > 60
