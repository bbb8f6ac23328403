"""Programs that use the wrong buffer, direction or row pitch on the host fail every time: the line is named. Real PoCL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.opencl import OpenCL
from test_investigations import investigate

from gpudx.investigate.exchanged import _unchecked
from gpudx.investigate.redirected import UNREAD
from gpudx.model import Diagnosis, Evidence

PROGRAM = Path(__file__).resolve().parent / "programs/redirected.c"
SLOW = (  # others' work
    "fenced host-heap host-memory poisoned checked checked-numbers oclgrind serialised watched other-number edited-kernel"
).split()
WITHOUT = tuple(word for name in SLOW for word in ("--without", name))
FAULTS = {
    "buffer": ("wrong-buffer", "passes with buffer #2, which launch 3 (next) wrote"),
    "map": ("wrong-buffer", "passes with buffer #4, which launch 6 (next) wrote"),
    "direction": ("exchanged-copy", "copy in the wrong direction"),
    "pitch": ("transfer-pitch", "uses a buffer row pitch of 240 bytes; the program fails every time, and passes with 256"),
    "argument": ("wrong-buffer", "sets argument 1 (`b`) of kernel sum to buffer #"),
}


def line(mode: str) -> int:
    """The line of the fault; of an argument, the one that decides it."""
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"/* the {mode} */"))


def first(opencl: OpenCL, place: Path, mode: str) -> tuple[dict[str, Any], str]:
    case, said, _ = investigate(opencl, place, *WITHOUT, "--", opencl.build([PROGRAM], "-g", name="redirected"), mode)
    return next(iter(case["diagnosis"]), {}), said


TWO_WAYS = pytest.mark.pocl("Intel's driver runs the rows one after the other, and then the kernel's swapped arguments are as good")


@pytest.mark.parametrize("mode", [pytest.param(mode, marks=TWO_WAYS if mode == "pitch" else ()) for mode in FAULTS])
def test_the_fault_is_named(opencl: OpenCL, tmp_path: Path, mode: str) -> None:
    entry, said = first(opencl, tmp_path / "case", mode)
    cause, words = FAULTS[mode]
    assert (entry["cause"], entry["status"]) == (cause, "confirmed"), said
    assert words in entry["summary"] and f"redirected.c:{line(mode) - (mode == 'pitch')}" in said, said


@pytest.mark.parametrize("mode", ["kernel", "reference", "right"])
def test_others_are_not_accused(opencl: OpenCL, tmp_path: Path, mode: str) -> None:
    entry, said = first(opencl, tmp_path / "case", mode)
    assert entry.get("cause") not in {cause for cause, _ in FAULTS.values()}, said


@pytest.mark.parametrize(("evidence", "status"), [(f"{UNREAD}buffer #2, which 31 calls copied or wrote to", "likely"), ("as it is", None)])
def test_of_several_changes_one_that_the_record_speaks_for_stays(evidence: str, status: str | None) -> None:
    """Of a program whose status may be a result of its own."""
    entry = Diagnosis("exchanged-copy", "likely", "It copies in the wrong direction.", None, None, (Evidence(evidence),), "", ())
    left = _unchecked(entry)
    assert (left.status if left else None) == status
