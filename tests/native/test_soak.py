"""A short round of benchmarks/soak.py: programs behave the same with the recorder inside, whatever it is asked to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.builds import ROOT
from support.simulated import SLOW

sys.path.insert(0, str(ROOT / "benchmarks"))

import soak

PROGRAMS = 10 if SLOW else 4


@pytest.mark.parametrize("name", list(soak.DRIVERS))
def test_a_short_round(name: str, tmp_path: Path) -> None:
    if lacking := soak.missing(name):
        pytest.skip(lacking)
    runs, wrong = soak.soak(name, seed=7, programs=PROGRAMS, rounds=1, folder=tmp_path)
    assert runs == PROGRAMS
    assert not wrong, "\n".join(wrong)


def test_a_program_that_changes_is_noticed(tmp_path: Path) -> None:
    """A recorder that does not keep its hands off: here it is the environment that changes what the program does."""
    with soak.DRIVERS["cuda"](tmp_path) as driver:
        case = soak.Case("fap", True)
        plain = driver.run(case, driver.plain)
        assert soak.differences(driver, case, plain, {}, tmp_path) == []
        (line,) = soak.differences(driver, case, plain, {"FAKE_CUDA_REFUSE": "cuLaunchKernel:1:1"}, tmp_path)
        assert "FAKE_CUDA_REFUSE=cuLaunchKernel:1:1 soak_cuda fap" in line


def test_programs_follow_from_the_seed() -> None:
    drawn = [soak.cases(seed, 50, "ab", "XY") for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {case.correct for case in drawn[0]} == {True, False}
