"""A number that a kernel should not be passed, shown by runs with another one; and programs whose numbers are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnose.test_investigations import investigate
from support.opencl import OpenCL

PROGRAM = Path(__file__).resolve().parent / "programs/numbers.c"
ONLY = ("--only", "other-number", "--budget", "10m")  # also where much else runs; it ends before


@pytest.mark.parametrize("mode", ["quotient", "abort"])
def test_a_quotient_that_is_rounded_down_is_named(opencl: OpenCL, tmp_path: Path, mode: str) -> None:
    program = opencl.build([PROGRAM], name="numbers")
    case, said, code = investigate(opencl, tmp_path / "case", *ONLY, "--", program, mode)
    best = case["diagnosis"][0]
    assert code == 0 and (best["cause"], best["status"]) == ("wrong-number", "confirmed"), said
    assert (best["guilty"]["kernel"], best["guilty"]["argument"]) == ("mean", 3)
    assert "is 7 instead of 6: 7 is `count` / 16 = 100 / 16 rounded up; 6 is rounded down." in best["summary"]
    assert f"numbers.c:{_line()}" in said


def test_numbers_that_are_right_are_not_accused(opencl: OpenCL, tmp_path: Path) -> None:
    program = opencl.build([PROGRAM], name="numbers")
    case, said, _ = investigate(opencl, tmp_path / "case", *ONLY, "--", program, "sum")
    assert not [entry for entry in case["diagnosis"] if entry["cause"] == "wrong-number"], said
    tried = {trial["experiment"] for trial in case["investigation"]["trials"]}
    assert any(name.startswith("other-number:") for name in tried)


def _line() -> int:
    return next(number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "// the number" in line)
