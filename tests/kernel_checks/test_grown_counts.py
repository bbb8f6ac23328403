"""Indexes that are too large because something kept counting are explained by what counted."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]
PROGRAM = str(HERE / "programs/grown_counts.py")


@pytest.mark.timeout(600)
def test_what_kept_counting_is_named(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "wrong", env=platform)
    found = {one["site"]["kernel"]: str(one["message"]) for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert set(found) == {"keep", "scatter", "add", "once", "emit"}
    assert "set `count` (argument 2), 2 earlier launches have added to it since, and nothing reset it" in found["keep"]
    assert "The index is an element of `cursor` (argument 2), which this launch counts up, and clEnqueueWriteBuffer" in found["scatter"]
    assert "Argument 1 `first` grows with each launch (60 in launch 8, 80 in launch 9, 100 in launch 10)" in found["add"]
    assert "`place` was replaced by a larger buffer; `speed` was not." in found["emit"] and "replaced" not in found["add"]
    assert "grows" not in found["once"]  # one launch shows no growth
