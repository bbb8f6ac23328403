"""Loops without an end: which one, and the numbers that its condition depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from support.simulated import crossed
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


def found(platform: dict[str, str], case: Path, name: str, how: str) -> list[dict[str, Any]]:
    sanitized(case, str(HERE / "programs/loops.py"), name, how, env=platform, checks="loops")
    return findings(case)  # type: ignore[return-value]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "platform"), crossed(list(LOOPS), ("pocl", "intel")), indirect=["platform"])
def test_the_loop_is_named_with_its_numbers(platform: dict[str, str], tmp_path: Path, name: str) -> None:
    (one,) = found(platform, tmp_path / "case", name, "wrong")
    condition, told = LOOPS[name]
    assert one["id"] == "kernel-check-loop" and condition in one["message"], one["message"]
    for part in told:
        assert part in one["message"], one["message"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "platform"), crossed([*LOOPS, "long_one"], ("intel", "pocl")), indirect=["platform"])
def test_loops_that_end_are_not_accused(platform: dict[str, str], tmp_path: Path, name: str) -> None:
    assert found(platform, tmp_path / "case", name, "right") == []


@pytest.mark.timeout(600)
def test_a_search_without_an_end_is_told_by_what_it_reads(platform: dict[str, str], tmp_path: Path) -> None:
    (one,) = found(platform, tmp_path / "case", "probing", "wrong")
    told = " ".join(line["text"] for line in one["evidence"])
    assert "the loop ends only where `0 ? found > 50 : found < 0` is true, which depends on `k[at]`" in told
    assert "argument 2 `n` is 100" in told
    assert "an element of `k` satisfies" in one["steps"][0] and "after 100 iterations" in one["steps"][0]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("hopping", "Let the index reach all 100 elements of `k`, and leave the loop after 25 iterations"),
        ("filling", "Make `k` larger than the number of different values"),
        ("wandering", "an element of `k` satisfies"),
    ],
)
def test_what_to_do_about_a_round_without_an_end(tmp_path: Path, name: str, step: str) -> None:
    (one,) = found({}, tmp_path / "case", name, "wrong")
    assert step in one["steps"][0], one["steps"]
