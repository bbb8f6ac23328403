"""A kernel that reads what another launch left unwritten: the launch is named, with how far it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

# kernel that reads: part of the sentence, part of the first step, the kernel that wrote too little
REASONS = {
    "sums": ("(launch 1) wrote it before, at most 704 of 707 elements: `o[i]`", "Write the last 3 elements too", "by_four"),
    "means": ("wrote it before, at most 11,200 of 30,000 elements", "Launch 300 work-items in dimension 0", "turned"),
    "toned": ("`x` goes up to 31 there, and width is 50: the launch has 32 x 56 work-items", "Swap dimensions 0 and 1", "framed"),
    "added": ("goes up to element 959", "the number was rounded down to whole groups", "floored"),
    "counted": ("goes up to element 63", "Use get_global_id(0) instead of get_local_id(0) in `o[get_local_id(0)]`: the launch has 256", ""),
    "near": ("of argument 0 `a`", "", ""),
    "moved": ("of argument 0 `v`", "", ""),
    "in_place": ("of argument 0 `a`", "", ""),
}
CAUSES = {"toned": "argument-order"}


@pytest.mark.timeout(600)
def test_the_launch_that_wrote_too_little_is_named(platform: dict[str, str], tmp_path: Path) -> None:
    case = tmp_path / "case"
    sanitized(case, str(HERE / "programs/partial_launches.py"), "wrong", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(case)}  # type: ignore[index]
    assert set(found) == set(REASONS)
    for kernel, (sentence, step, writer) in REASONS.items():
        assert found[kernel]["id"] == "kernel-check-uninitialized"
        assert sentence in str(found[kernel]["message"]), found[kernel]["message"]
        assert step in str(found[kernel].get("steps"))
        assert found[kernel]["causes"] == [CAUSES.get(kernel, "read-before-write")], found[kernel]
        assert (found[kernel].get("root") or {}).get("kernel", "") == writer, found[kernel]  # type: ignore[attr-defined]
