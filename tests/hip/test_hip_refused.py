"""Launches that were refused with the status of a device fault, and errors of earlier calls that are found behind a launch. Programs are
built by the real hipcc; execution is simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hip_kit import SONAME, Kit

SHAPES = pytest.mark.parametrize("shape", ["5", "7"])


def case_of(kit: Kit, folder: Path, shape: str, name: str, *words: str) -> dict[str, Any]:
    built = kit.hip_program(name)
    runtime = {"LD_LIBRARY_PATH": str(kit.runtime(shape, SONAME).parent)}
    return kit.case_of(replace(built, environment=built.environment | runtime), folder, *words)


def worth_telling(case: dict[str, Any]) -> list[str]:
    return [one["id"] for one in case["findings"] if one["severity"] != "info"]


@SHAPES
def test_a_launch_beyond_its_bounds_did_not_fail_on_the_device(kit: Kit, tmp_path: Path, shape: str) -> None:
    """The status is that of a device fault, and nothing ran."""
    case = case_of(kit, tmp_path, shape, "bounds")
    best = case["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("launch-refused", "confirmed")
    assert "a block of 512 x 1 x 1 has 512 threads, this kernel can have 256" in best["summary"]
    assert "device-error-reported" not in worth_telling(case)


@SHAPES
def test_a_launch_within_its_bounds_is_no_finding(kit: Kit, tmp_path: Path, shape: str) -> None:
    case = case_of(kit, tmp_path, shape, "bounds", "good")
    assert case["outcome"]["kind"] == "passed" and not worth_telling(case)


def test_the_error_of_an_earlier_call_is_not_that_of_the_launch(kit: Kit, tmp_path: Path) -> None:
    case = case_of(kit, tmp_path, "7", "registered")
    best = case["diagnosis"][0]
    assert (best["cause"], best["status"], best["guilty"]["call"]) == ("stale-error", "confirmed", "hipHostRegister")
    assert "behind the launch of kernel shift" in best["summary"] and "registered.hip:16" in best["guilty"]["source"]


@pytest.mark.parametrize(("shape", "word"), [("5", ""), ("7", "cleared"), ("7", "good")])
def test_an_error_that_is_gone_by_then_is_no_finding(kit: Kit, tmp_path: Path, shape: str, word: str) -> None:
    """HIP 5 forgets it at the next call; with "cleared" the program asks for it right behind the call."""
    case = case_of(kit, tmp_path, shape, "registered", *filter(None, [word]))
    assert case["outcome"]["kind"] == "passed" and not worth_telling(case)


@SHAPES
def test_memory_that_is_freed_twice_in_stream_order(kit: Kit, tmp_path: Path, shape: str) -> None:
    """The memory is still there when the second call comes, and nobody looks at its status."""
    case = case_of(kit, tmp_path, shape, "owners")
    best = case["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("use-of-released-object", "confirmed")
    assert best["summary"].startswith("Memory #3 had been freed (hipFreeAsync, call ") and best["summary"].endswith("freed it again.")


@SHAPES
def test_memory_that_is_freed_once_and_given_out_again(kit: Kit, tmp_path: Path, shape: str) -> None:
    case = case_of(kit, tmp_path, shape, "owners", "good")
    assert case["outcome"]["kind"] == "passed" and not worth_telling(case)
