"""CUDA kernels that check themselves, on a real GPU: what races and what makes NaN is named, and their correct neighbours are not."""

from __future__ import annotations

import pytest
from test_on_gpu import Gpu, gpu

__all__ = ["gpu"]  # the fixture

pytestmark = pytest.mark.gpu
PTX = "-arch=compute_80"  # only what is in a program as PTX can check itself


@pytest.mark.parametrize(
    ("how", "cause", "kernel"),
    [("plain", "race-in-kernel", "tally"), ("unfenced", "race-in-kernel", "hand_over"), ("nan", "not-a-number", "normalise")],
)
def test_faults_between_blocks_are_named(gpu: Gpu, how: str, cause: str, kernel: str) -> None:
    best = gpu.run("block_race", "--sanitize=ptx", words=(how,), code=PTX).best
    assert (best["cause"], best["guilty"]["kernel"], best["guilty"]["launch"]) == (cause, kernel, 1)
    assert "block_race.cu:" in best["summary"]


@pytest.mark.parametrize("how", ["atomic", "fenced", "number"])
def test_correct_neighbours_stay_silent(gpu: Gpu, how: str) -> None:
    ran = gpu.run("block_race", "--sanitize=ptx", words=(how,), code=PTX)
    assert ran.recorded == ran.plain[:2] and ran.errors == []
    assert any(one["name"].startswith("PTX checks") and one["state"] == "live" for one in ran.case["instruments"])


@pytest.mark.parametrize("name", ["vector_add", "async_alloc", "graph_capture", "multi_stream", "by_value", "managed"])
def test_correct_programs_run_as_before_and_are_clean(gpu: Gpu, name: str) -> None:
    ran = gpu.run(name, "--sanitize=ptx", code=PTX)
    assert ran.recorded == ran.plain[:2] and ran.errors == []


@pytest.mark.parametrize(
    ("how", "cause", "kernel"),
    [("race", "race-in-kernel", "count"), ("lanes", "barrier-misuse", "pick"), ("message", "race-in-kernel", "pass_on")],
)
def test_faults_in_shared_memory_warps_and_messages_are_named(gpu: Gpu, how: str, cause: str, kernel: str) -> None:
    best = gpu.run("shared_checks", "--sanitize=ptx", words=(how,), code=PTX).best
    assert (best["cause"], best["guilty"]["kernel"], best["guilty"]["launch"]) == (cause, kernel, 1)
    assert "shared_checks.cu:" in best["summary"]


@pytest.mark.parametrize("how", ["cleared", "whole", "fenced"])
def test_their_correct_neighbours_stay_silent(gpu: Gpu, how: str) -> None:
    ran = gpu.run("shared_checks", "--sanitize=ptx", words=(how,), code=PTX)
    assert ran.recorded == ran.plain[:2] and ran.errors == []


@pytest.mark.parametrize("how", ["heap", "fences"])
def test_memory_that_blocks_hand_on_is_no_race(gpu: Gpu, how: str) -> None:
    """Through the device's heap, and behind 256 fences, one of each thread."""
    ran = gpu.run("handed_on", "--sanitize=ptx", words=(how,), code=PTX)
    assert ran.recorded == ran.plain[:2] and ran.errors == []


def test_a_shuffle_of_lanes_that_have_returned_is_reported(gpu: Gpu) -> None:
    ran = gpu.run("handed_on", "--sanitize=ptx", words=("tail",), code=PTX)
    (found,) = [one for one in ran.case["findings"] if one["id"] == "kernel-check-lane-gone"]
    assert "tail_sum" in found["message"] and "handed_on.cu:43" in found["message"]
