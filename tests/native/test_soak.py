"""A short round of benchmarks/soak.py: programs behave the same with the recorder inside, whatever it is asked to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.builds import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import soak


@pytest.mark.parametrize("driver", ["pocl", "intel"])
def test_a_short_round(driver: str, tmp_path: Path) -> None:
    runs, wrong = soak.soak(driver, seed=7, programs=12, rounds=1, folder=tmp_path)
    assert runs == 12
    assert not wrong, "\n".join(wrong)


def test_programs_follow_from_the_seed() -> None:
    assert soak.cases(3, 50) == soak.cases(3, 50) != soak.cases(4, 50)
    assert {case.correct for case in soak.cases(3, 50)} == {True, False}
