"""A number that only one of two kernels gets anew is the reason of the indexes that follow from it, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]
PROGRAM = str(HERE / "programs/stale_numbers.py")


@pytest.mark.timeout(600)
def test_the_number_that_stayed_is_named(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "wrong", env=platform)
    by_kernel: dict[str, list[dict[str, object]]] = {}
    for one in findings(tmp_path / "case"):
        by_kernel.setdefault(one["site"]["kernel"], []).append(one)  # type: ignore[index]
    assert set(by_kernel) == {"move", "blur"}
    # Outside comes first, also where four races were reported at the same place before.
    (moved,) = by_kernel["move"]
    assert moved["id"] == "kernel-check-bounds" and moved["causes"] == ["stale-argument"], moved
    assert "kernel count, which works on the same buffer, was passed `shift` = 2" in str(moved["message"])
    assert "Set argument 3 `shift` of move before each launch" in str(moved["steps"])
    assert "times there" not in str(moved["evidence"])  # races at the same place are counted with it
    (blurred,) = by_kernel["blur"]
    assert blurred["causes"] == ["out-of-bounds-access"], blurred
