"""Rows that overflow are named with their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]


@pytest.mark.timeout(600)
def test_rows_that_overflow_are_named_with_their_numbers(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", str(HERE / "programs/rows.py"), "wrong", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert set(found) == {"tail", "inner", "slots"}
    assert found["tail"]["causes"] == ["race-in-kernel"]
    assert "`x` is up to 15 in groups of 16 x 8, and a row of `t` has 8 elements" in str(found["inner"]["message"])
    assert "`cap` is 6, and `slot` is 6 or more for one of the two" in str(found["slots"]["message"])
    assert {str(found[kernel]["causes"]) for kernel in ("inner", "slots")} == {"['out-of-bounds-access']"}
