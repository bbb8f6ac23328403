"""A fault that follows from a barrier which not all work-items reach is not blamed on the argument. Real PoCL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import forked
from support.opencl import OpenCL
from test_investigations import investigate, read, surroundings

PROGRAM = Path(__file__).resolve().parent / "programs/branching.c"


def first(opencl: OpenCL, place: Path, mode: str, *options: str) -> dict[str, Any]:
    """The first entry of the diagnosis of a recorded run."""
    words = ("run", *options, "--case", place, "--", opencl.build([PROGRAM]), mode)
    done = forked.gpudx(*words, env=surroundings(opencl))
    entries = read(place)["diagnosis"]
    assert entries, done.stdout + done.stderr
    return dict(entries[0])


def test_an_access_after_such_a_barrier_is_not_confirmed(opencl: OpenCL, tmp_path: Path) -> None:
    entry = first(opencl, tmp_path / "case", "barrier", "--fence")
    assert (entry["cause"], entry["status"]) == ("out-of-bounds-access", "likely")
    assert "line 7 of the kernel's source has a barrier that only work-items with (i >= first) reach" in str(entry["evidence"])
    assert "gpudx run --sanitize" in entry["fix"][0]


def test_an_access_of_another_kernel_in_the_same_source_is_confirmed(opencl: OpenCL, tmp_path: Path) -> None:
    entry = first(opencl, tmp_path / "case", "size", "--fence")
    assert (entry["cause"], entry["status"]) == ("out-of-bounds-access", "confirmed")


def test_the_checks_inside_kernels_name_the_barrier(opencl: OpenCL, tmp_path: Path) -> None:
    entry = first(opencl, tmp_path / "case", "barrier", "--sanitize")
    assert (entry["cause"], entry["status"]) == ("barrier-misuse", "confirmed")


def test_an_investigation_names_the_barrier(opencl: OpenCL, tmp_path: Path) -> None:
    case, said, _ = investigate(opencl, tmp_path / "case", "--", opencl.build([PROGRAM]), "barrier")
    assert (case["diagnosis"][0]["cause"], case["diagnosis"][0]["status"]) == ("barrier-misuse", "confirmed"), said


def test_the_correct_program_is_not_accused(opencl: OpenCL, tmp_path: Path) -> None:
    for option in ("--fence", "--sanitize"):
        words = ("run", option, "--case", tmp_path / option, "--", opencl.build([PROGRAM]), "right")
        assert forked.gpudx(*words, env=surroundings(opencl)).returncode == 0
        assert not read(tmp_path / option)["diagnosis"]
