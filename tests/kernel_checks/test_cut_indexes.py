"""Indexes that a variable of 16 bits cuts are named, also where no access leaves a buffer."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]
PROGRAM = str(HERE / "programs/cut_indexes.py")


@pytest.mark.timeout(600)
def test_indexes_that_are_cut_are_named(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "wrong", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert set(found) == {"row", "scatter"}, found  # and no race that only follows from it
    assert "in the index `at`, which is a Index and became" in str(found["row"]["message"])
    assert "`y * pitch + x` is " in str(found["row"]["message"])
    assert {str(one["causes"]) for one in found.values()} == {"['index-overflow']"}
