"""What speaks against a run that passed with a change: what the program read back in it, beside what it reads in a plain run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudx.model.read_back import ReadBack

PLAIN = ReadBack(nan=0, infinite=0, large=2, varied=1, launches=(("step", 40), ("sum", 2)))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (replace(PLAIN, nan=7), "has a NaN with it"),
        (replace(PLAIN, infinite=1), "has an infinite number with it"),
        (replace(PLAIN, varied=0), "are the same with it"),
        (replace(PLAIN, launches=(("step", 40),)), "sum is launched 0 instead of 2 times with it"),
        (replace(PLAIN, launches=(("step", 1), ("sum", 2))), "step is launched 1 instead of 40 times with it"),
    ],
)
def test_results_that_the_plain_runs_do_not_have_speak_against_a_pass(changed: ReadBack, why: str) -> None:
    assert why in changed.why_not(PLAIN)


@pytest.mark.parametrize(
    ("changed", "plain"),
    [
        (PLAIN, PLAIN),
        (PLAIN, replace(PLAIN, nan=3)),  # what was wrong is gone
        (replace(PLAIN, nan=3), replace(PLAIN, nan=5)),  # it marks what is missing
        (replace(PLAIN, varied=0), replace(PLAIN, varied=0)),  # counters that are 0
        (replace(PLAIN, varied=0, large=0), PLAIN),  # too little to vary
        (replace(PLAIN, launches=(("step", 12), ("sum", 2))), PLAIN),  # it converges now
        (replace(PLAIN, launches=(("step", 40), ("sum", 1))), PLAIN),
    ],
)
def test_results_that_are_as_good_do_not(changed: ReadBack, plain: ReadBack) -> None:
    assert changed.why_not(plain) == ""
