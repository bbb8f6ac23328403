"""A struct of the host against the kernel's, by debug information: named where they differ, and only there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from support.opencl import OpenCL
from test_running import HERE, findings, run

SOURCE = HERE / "programs/structs.c"


def found(opencl: OpenCL, mode: str, case: Path, *flags: str) -> list[dict[str, Any]]:
    program = opencl.build([SOURCE], *flags, name=f"structs{''.join(flags)}")
    words = [sys.executable, "-m", "gpudx", "run", "--sanitize=opencl", "--case", str(case), "--", str(program), mode]
    done = run(words, dict(opencl.loader.environment))
    assert (case / "case.json").exists(), done.stderr
    return findings(case)  # type: ignore[return-value]


def test_other_offsets_on_the_host_are_named_with_the_declaration(opencl: OpenCL, tmp_path: Path) -> None:
    (one,) = found(opencl, "vectors", tmp_path / "case")
    line = next(at for at, text in enumerate(SOURCE.read_text().split("\n"), 1) if text.startswith("struct light"))
    assert one["causes"] == ["struct-layout"]
    assert f"`struct light` has 32 bytes on the host (structs.c:{line}) and 64 bytes in the kernel" in one["message"]
    told = [line["text"] for line in one["evidence"]]
    assert "`radius` is at byte 12 on the host and at byte 16 in the kernel" in told, told


def test_half_as_many_structs_are_not_guessed_to_be_smaller_ones(opencl: OpenCL, tmp_path: Path) -> None:
    """Without debug information 20 structs of 32 bytes cannot be told from 10 of 64."""
    (one,) = found(opencl, "vectors", tmp_path / "case", "-g0")
    assert one["causes"] == ["out-of-bounds-access"]


def test_a_buffer_that_is_too_small_for_structs_that_agree_is_no_matter_of_layout(opencl: OpenCL, tmp_path: Path) -> None:
    (one,) = found(opencl, "short", tmp_path / "case")
    assert one["causes"] != ["struct-layout"]


def test_structs_that_agree_are_not_accused(opencl: OpenCL, tmp_path: Path) -> None:
    assert found(opencl, "same", tmp_path / "case") == []
