"""Loops without an end: which one, and the numbers that its condition depends on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from support.simulated import SLOW
from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

LOOPS = {  # kernel: the condition, and what is said about its numbers
    "halving": ("`lo < hi`", ("`lo` stays 49 and `hi` stays 50.",)),
    "around": ("`left != 0`", ("`left` is ", " and still changes")),
    "closer": ("`!(error < 0.001f)`", ("`error` stays NaN", "`x` is ", "and still changes")),
    "open_end": ("`for (;;)`", ("`at` stays 3.",)),
    "beyond": ("`i < last`", ("`last` stays 4,294,967,196", "`i` is ")),
    "narrow": ("`i < (0 ? n : n + 200)`", ("`i` is ", "and still changes")),
    "downwards": ("`i >= 0`", ("`i` is ", "and still changes")),
    "probing": ("`1`", ("It reads all 100 elements of `k` (buffer #1, 400 bytes", "`at = (at + 1) % n` takes the same 100 values")),
    "hopping": ("`for (;;)`", ("It reads 25 of the 100 elements of `k`", "takes the same 25 values")),
    "filling": ("`for (;;)`", ("It reads all 100 elements of `k`",)),
    "wandering": ("`for (;;)`", ("`at` is ", "and still changes")),  # moved in two ways: what it visits is not known
}


LONG = "around"  # takes as long as all others: on the second driver only
SEARCH = (  # of "probing"
    "the loop ends only where `0 ? found > 50 : found < 0` is true, which depends on `k[at]`",
    "argument 2 `n` is 100",
)
STEPS = {
    "probing": ("an element of `k` satisfies", "after 100 iterations"),
    "hopping": ("Let the index reach all 100 elements of `k`, and leave the loop after 25 iterations",),
    "filling": ("Make `k` larger than the number of different values",),
    "wandering": ("an element of `k` satisfies",),
}


def found(platform: dict[str, str], case: Path, names: Iterable[str], how: str) -> list[dict[str, Any]]:
    """What one run of all these kernels finds."""
    sanitized(case, str(HERE / "programs/loops.py"), ",".join(names), how, env=platform, checks="loops")
    return findings(case)  # type: ignore[return-value]


@pytest.mark.timeout(600)
def test_each_loop_is_named_with_its_numbers(platform: dict[str, str], tmp_path: Path) -> None:
    names = [name for name in LOOPS if name != LONG or platform or SLOW]
    all_found = found(platform, tmp_path / "case", names, "wrong")
    by_kernel = {one["site"]["kernel"]: one for one in all_found}
    assert by_kernel.keys() == set(names) and len(all_found) == len(names)
    for name, one in by_kernel.items():
        condition, told = LOOPS[name]
        assert one["id"] == "kernel-check-loop" and condition in one["message"], one["message"]
        for part in told:
            assert part in one["message"], one["message"]
        for step in STEPS.get(name, ()):
            assert step in one["steps"][0], one["steps"]
    evidence = " ".join(line["text"] for line in by_kernel["probing"]["evidence"])
    for part in SEARCH:
        assert part in evidence


@pytest.mark.timeout(600)
def test_loops_that_end_are_not_accused(platform: dict[str, str], tmp_path: Path) -> None:
    names = [*(name for name in LOOPS if name != "filling"), "long_one", "filling"]  # which changes what the others read
    assert found(platform, tmp_path / "case", names, "right") == []
