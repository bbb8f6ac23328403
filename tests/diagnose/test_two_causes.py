"""A program that fails in two unlike ways has two causes; one that fails in one way has one, however it ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.opencl import OpenCL
from test_investigations import HEAP, investigate

from gpudx.investigate.two_causes import _are_alike, is_of
from gpudx.model import Failure, Trial

TWO_WAYS = Path(__file__).resolve().parent / "programs/two_ways.c"


def confirmed(case: dict[str, Any]) -> dict[str, str]:
    """Kernels by cause."""
    return {one["cause"]: one["guilty"]["kernel"] for one in case["diagnosis"] if one["status"] == "confirmed"}


@HEAP
def test_two_failures_have_two_causes(opencl: OpenCL, tmp_path: Path) -> None:
    """The second run, under an instrument, fails in the other way: what it shows is no cause of the first failure."""
    program = opencl.build([TWO_WAYS], "-g", name="two_ways")
    case, said, code = investigate(opencl, tmp_path / "case", "--", program, tmp_path / "turns")
    assert code == 0 and confirmed(case) == {"out-of-bounds-access": "scale", "race-in-kernel": "add"}, said
    first, second = case["diagnosis"][:2]
    assert "status 3" in case["outcome"]["summary"] and first["guilty"]["kernel"] == "scale"
    assert second["evidence"][0]["text"].endswith("plain runs ended with status 4")
    assert "which has a cause of its own: race-in-kernel in kernel add (confirmed)" in " ".join(said.split())
    trials = case["investigation"]["trials"]
    assert len({trial["folder"] for trial in trials}) == len(trials)
    shown = {trial["ending"]: trial["shown"] for trial in trials if trial["experiment"] == "checked"}
    assert shown == {"exit:3": ["out-of-bounds-access"], "exit:4": ["race-in-kernel"]}


def test_one_failure_has_one_cause(opencl: OpenCL, tmp_path: Path) -> None:
    program = opencl.build([TWO_WAYS], "-g", name="two_ways")
    case, said, _ = investigate(opencl, tmp_path / "case", "--", program, "first")
    assert confirmed(case) == {"out-of-bounds-access": "scale"} and not case["investigation"]["also"], said
    assert "cause of its own" not in said and len(case["investigation"]["trials"]) <= 6


A, B = Failure("exit:3", "", ()), Failure("exit:4", "", ())
MARKED_A, MARKED_B = Failure("exit:3", "", ("1:a",)), Failure("exit:3", "", ("1:b",))


@pytest.mark.parametrize(
    ("failure", "this", "other", "is_it"),
    [
        (B, B, A, True),
        (A, B, A, False),
        (Failure("signal:SIGSEGV", ""), B, A, False),  # an instrument may end the program so, of either failure
        (None, B, A, False),
        (MARKED_B, MARKED_B, MARKED_A, True),  # the same ending, and other faults
        (Failure("exit:4", "", ("1:a",)), MARKED_B, MARKED_A, False),
    ],
)
def test_whose_failure_a_run_is(failure: Failure | None, this: Failure, other: Failure, is_it: bool) -> None:
    assert is_of(failure, this, other) == is_it


def test_only_runs_that_do_the_same_in_all_are_alike() -> None:
    one = Trial("recorded", "reproduced", "exit:1", 0.1, fingerprints=("1:a",), output="aa")
    assert _are_alike([one, one])
    assert not _are_alike([one, replace(one, output="bb")])  # a race prints something else each time
    assert not _are_alike([one, replace(one, fingerprints=("1:a", "1:b"))])
    assert not _are_alike([replace(one, fingerprints=())] * 2)  # nothing is known of the failure
