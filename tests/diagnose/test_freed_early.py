"""A free that only a run with fences shows, of a program that fails without them: trials and findings by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_decisive import case
from test_judge import EXITED, PASSED, fault

from gpudx.investigate import freed_early
from gpudx.model import Trial

FREED = replace(fault(), id="freed-while-in-use", severity="warning", causes=("freed-while-in-use",))
FAILED = Trial("recorded", "reproduced", "exit:1", 1.0)
FENCED = Trial("fenced", "passed", "passed", 1.0)


def test_a_free_that_fits_is_likely() -> None:
    one = freed_early.entry([FAILED, FAILED], FENCED, case(PASSED, FREED))
    assert one is not None and one.status == "likely" and one.cause == "freed-while-in-use" and one.summary == FREED.message


@pytest.mark.parametrize(
    ("before", "trial", "findings"),
    [
        ([FAILED], FENCED, []),  # nothing in its record
        ([FAILED, replace(FAILED, outcome="passed")], FENCED, [FREED]),  # it passes now and then anyway
        ([FAILED], replace(FENCED, outcome="reproduced"), [FREED]),
        ([FAILED], replace(FENCED, experiment="memcheck"), [FREED]),
        ([], FENCED, [FREED]),
        ([replace(FAILED, fingerprints=(FREED.fingerprint,))], FENCED, [FREED]),  # judged with the plain runs
    ],
)
def test_other_runs_say_nothing(before: list[Trial], trial: Trial, findings: list[object]) -> None:
    assert freed_early.entry(before, trial, case(PASSED if trial.outcome == "passed" else EXITED, *findings)) is None
