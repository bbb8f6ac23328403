"""The correct neighbours of kernels that other files of this folder expect findings of: nothing is reported. One process runs them all."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

PROGRAMS = (  # of which "right" is the correct variant
    "aliased", "cut_indexes", "followers", "grown_counts", "host_numbers", "images", "misaligned", "partial", "partial_launches", "races",
    "reasons", "rows", "stale_numbers",
)  # fmt: skip


@pytest.mark.early
@pytest.mark.timeout(600)
def test_correct_neighbours_are_silent(platform: dict[str, str], tmp_path: Path) -> None:
    case = tmp_path / "case"
    done = sanitized(case, str(HERE / "programs/together.py"), "right", *PROGRAMS, env=platform)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("ended: ")] == [f"ended: {name}" for name in PROGRAMS]
    assert not findings(case), findings(case)
    assert "does not compile" not in (case / "case.json").read_text()
