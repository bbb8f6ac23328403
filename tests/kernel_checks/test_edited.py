"""gpudx investigate on programs whose kernels compute wrong numbers, and on their correct twins."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from support import forked

HERE = Path(__file__).parent
OTHERS = (  # experiments that look for other causes
    "checked fenced low-fenced close-fenced serialised poisoned host-heap host-memory checked-numbers exchanged watched "
    "oclgrind redirected other-number edited-kernel"
).split()
pytestmark = pytest.mark.builds


def investigated(case: Path, mode: str) -> dict[str, Any]:
    """With the experiments that look for other causes left out, and time for a machine that does much else."""
    words = ["investigate", "--case", case, "--timeout", "100s", "--budget", "10m", *(f"--without={one}" for one in OTHERS)]
    forked.gpudx(*words, "--", sys.executable, str(HERE / "programs/edited.py"), mode, env=dict(os.environ), timeout=600)
    read: dict[str, Any] = json.loads((case / "case.json").read_text())
    assert {one["experiment"] for one in read["observations"]} & {"filled-variables:00000000", "widened:0"} or mode in ("set", "wide")
    return read


@pytest.mark.timeout(700)
def test_a_variable_that_is_set_in_a_branch_only(tmp_path: Path) -> None:
    best = investigated(tmp_path / "case", "unset")["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("unset-variable", "confirmed")
    assert "Kernel search (launch 1) reads `first` before it has a value, and the result depends on it" in best["summary"]
    assert best["access"]["source"].endswith("edited.py:10") and best["guilty"]["launch"] == 1


@pytest.mark.timeout(700)
def test_a_sum_that_wraps(tmp_path: Path) -> None:
    best = investigated(tmp_path / "case", "narrow")["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("arithmetic-wrap", "confirmed")
    assert "Kernel spread (launch 1) computes `squares += (SUM)in[i * row + k] * in[i * row + k]`" in best["summary"]
    assert "; a uint keeps " in best["evidence"][0]["text"] and "`squares` goes from " in best["evidence"][0]["text"]


@pytest.mark.timeout(700)
@pytest.mark.parametrize("mode", ["set", "wide", "hash"])
def test_variables_that_are_set_and_numbers_that_may_wrap_are_silent(tmp_path: Path, mode: str) -> None:
    """A hash wraps on purpose, also in a program that fails of something else."""
    found = investigated(tmp_path / "case", mode)["diagnosis"]
    assert not [one for one in found if one["cause"] in ("unset-variable", "arithmetic-wrap")], found
