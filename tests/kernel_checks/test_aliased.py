"""Of two arguments with one buffer, the one that was not set again is named; where both were set, nothing is said of that."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["kept", "both"])
def test_two_arguments_with_one_buffer(platform: dict[str, str], tmp_path: Path, how: str) -> None:
    sanitized(tmp_path / "case", str(HERE / "programs/aliased.py"), how, env=platform)
    found = findings(tmp_path / "case")  # of the read and of the write
    kept = {"Argument 0 kept the buffer of an earlier launch" in str(one["message"]) for one in found}
    causes = {str(one["causes"]) for one in found}
    assert (causes, kept) == (({"['stale-argument']"}, {True}) if how == "kept" else ({"['arguments-overlap']"}, {False})), found
    if how == "both":
        assert all("Arguments 0 `x` and 1 `y` are the same buffer" in str(one["message"]) for one in found), found


@pytest.mark.timeout(600)
def test_a_race_through_one_of_two_such_arguments_is_no_overlap(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", str(HERE / "programs/aliased.py"), "own", env=platform)
    assert {str(one["causes"]) for one in findings(tmp_path / "case")} == {"['race-in-kernel']"}
