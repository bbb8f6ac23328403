"""Arguments that are swapped in the launches of one line of several; and launches that are all right."""

from __future__ import annotations

from pathlib import Path

from diagnose.test_investigations import investigate
from support.opencl import OpenCL

PROGRAM = Path(__file__).resolve().parent / "programs/one_site.c"
ONLY = ("--only", "exchanged", "--budget", "60s")


def test_the_line_that_swaps_two_arguments_is_named(opencl: OpenCL, tmp_path: Path) -> None:
    program = opencl.build([PROGRAM], name="one_site")
    case, said, _ = investigate(opencl, tmp_path / "case", *ONLY, "--", program, "site")
    best = case["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("argument-order", "confirmed"), said
    assert "Arguments 2 (`keep`) and 3 (`add`) of kernel mix_in are swapped in 4 launches (the first is launch 2)" in best["summary"]
    assert f"> {_line()} |" in said and f"one_site.c:{_line()} in main" in said


def test_no_line_is_named_where_all_are_right(opencl: OpenCL, tmp_path: Path) -> None:
    program = opencl.build([PROGRAM], name="one_site")
    case, said, _ = investigate(opencl, tmp_path / "case", *ONLY, "--", program, "host")
    assert not [entry for entry in case["diagnosis"] if entry["status"] in ("confirmed", "likely")], said
    assert any("=" in trial["note"] for trial in case["investigation"]["trials"]), "each line is tried by itself"


def _line() -> int:
    return next(number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "// the order" in line)
