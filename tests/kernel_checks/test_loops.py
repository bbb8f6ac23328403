"""Loops without an end: which one, and the numbers that its condition depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

LOOPS = {  # kernel: the condition, and what is said about its numbers
    "halving": ("`lo < hi`", ("`lo` stays 49 and `hi` stays 50.",)),
    "around": ("`left != 0`", ("`left` is ", " and still changes")),
    "closer": ("`!(error < 0.001f)`", ("`error` stays NaN", "`x` is ", "and still changes")),
    "open_end": ("`for (;;)`", ("`at` stays 3.",)),
}


def found(platform: dict[str, str], case: Path, name: str, how: str) -> list[dict[str, Any]]:
    sanitized(case, str(HERE / "programs/loops.py"), name, how, env=platform, checks="loops")
    return findings(case)  # type: ignore[return-value]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_is_named_with_its_numbers(platform: dict[str, str], tmp_path: Path, name: str) -> None:
    (one,) = found(platform, tmp_path / "case", name, "wrong")
    condition, told = LOOPS[name]
    assert one["id"] == "kernel-check-loop" and condition in one["message"], one["message"]
    for part in told:
        assert part in one["message"], one["message"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [*LOOPS, "long_one"])
def test_loops_that_end_are_not_accused(platform: dict[str, str], tmp_path: Path, name: str) -> None:
    assert found(platform, tmp_path / "case", name, "right") == []
