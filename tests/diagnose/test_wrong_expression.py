"""A word in a kernel that is wrong, shown by runs with another one; and kernels that are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnose.test_investigations import investigate
from support.opencl import OpenCL

PROGRAM = Path(__file__).resolve().parent / "programs/words.c"
ONLY = ("--only", "edited-kernel", "--budget", "10m")  # also where much else runs; it ends before


def test_the_variable_that_was_meant_is_named(opencl: OpenCL, tmp_path: Path) -> None:
    program = opencl.build([PROGRAM], name="words")
    case, said, _ = investigate(opencl, tmp_path / "case", *ONLY, "--", program, "pitch")
    best = case["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("wrong-expression", "likely"), said
    assert best["guilty"]["kernel"] == "copy" and best["access"]["source"].endswith(f"words.c:{_line()}")
    assert f"passes with `pitch` instead of `width` at words.c:{_line()} in kernel copy." in best["summary"]
    assert "The line becomes: `out[y * pitch" in best["summary"]


def test_a_kernel_that_is_right_is_not_accused(opencl: OpenCL, tmp_path: Path) -> None:
    """Changed kernels have faults of their own, which are not the program's: some do not compile, some leave their buffers."""
    program = opencl.build([PROGRAM], name="words")
    case, said, _ = investigate(opencl, tmp_path / "case", *ONLY, "--", program, "host")
    assert not [entry for entry in case["diagnosis"] if entry["status"] in ("confirmed", "likely")], said
    tried = [trial["experiment"] for trial in case["investigation"]["trials"]]
    assert sum(name.startswith("edited-kernel:") for name in tried) > 10


def _line() -> int:
    return next(number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "// the word" in line)


@pytest.mark.parametrize("way", ["read", "later", "map"])
def test_a_change_that_makes_all_results_nan_is_no_pass(opencl: OpenCL, tmp_path: Path, way: str) -> None:
    """The program passes with it: its check lets a NaN pass."""
    program = opencl.build([PROGRAM.with_name("nan_passes.c")], "-lm", name="nan_passes")
    case, said, _ = investigate(opencl, tmp_path / "case", *ONLY, "--", program, way)
    assert not [entry for entry in case["diagnosis"] if entry["status"] in ("confirmed", "likely")], said
    tried = [trial for trial in case["investigation"]["trials"] if "in[i] - 2.5f" in trial["note"]]
    assert tried and {trial["outcome"] for trial in tried} == {"reproduced"} and {trial["ending"] for trial in tried} == {"passed"}, tried
