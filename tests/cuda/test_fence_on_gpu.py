"""Fenced memory on a real GPU: faults where there were none, and correct programs as before."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from test_on_gpu import Gpu, gpu

__all__ = ["gpu"]  # the fixture

pytestmark = pytest.mark.gpu


def run(gpu: Gpu, name: str, *words: str, options: tuple[str, ...] = ()) -> tuple[int, str, dict[str, Any]]:
    """Exit status, output and case of a fenced run."""
    ran = gpu.run(name, *(options or ("--fence",)), plainly=False, words=words)
    return *ran.recorded, ran.case


def plain(gpu: Gpu, name: str, *words: str) -> tuple[int, str]:
    done = subprocess.run([str(gpu.program(name)), *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def fence(case: dict[str, Any]) -> dict[str, Any]:
    (one,) = [tool for tool in case["instruments"] if tool["name"] == "fence"]
    return dict(one)


@pytest.mark.parametrize("edge", ["high", "low"])
@pytest.mark.parametrize("name", ["fence_ok", "vector_add", "async_alloc", "graph_capture", "multi_stream", "by_value"])
def test_correct_programs_run_as_before_and_are_clean(gpu: Gpu, name: str, edge: str) -> None:
    code, out, case = run(gpu, name, options=(f"--fence={edge}",))
    assert (code, out) == plain(gpu, name) and code == 0
    assert [f["id"] for f in case["findings"] if f["severity"] == "error"] == []
    assert fence(case)["state"] == "live" and "without a fence" not in fence(case)["saw"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("1", "1024"), ("--fence",)),
        (("page", "1000"), ("--fence",)),
        (("1", "1000", "int", "read"), ("--fence", "--fence-align", "16")),
        (("before", "1000"), ("--fence=low",)),
        (("freed", "1000"), ("--fence",)),
        (("freed", "1000", "int", "read"), ("--fence=low",)),
    ],
    ids=["off by one", "a page", "a read", "before", "freed", "freed, read"],
)
def test_an_access_outside_is_a_fault_of_its_launch(gpu: Gpu, words: tuple[str, ...], options: tuple[str, ...]) -> None:
    assert words[0] == "freed" or plain(gpu, "fence_past", *words) == (0, "sync: cudaSuccess\n")
    code, out, case = run(gpu, "fence_past", *words, options=options)
    assert (code, out) == (1, "sync: cudaErrorIllegalAddress\n")
    best = case["diagnosis"][0]
    wanted = "use-after-free" if words[0] == "freed" else "out-of-bounds-access"
    assert best["cause"] == wanted and best["guilty"]["kernel"].startswith("touch") and best["guilty"]["launch"] == 1
    assert any("fenced" in e["text"] or "fault since" in e["text"] for e in best["evidence"])


@pytest.mark.parametrize(("offset", "where"), [("1", "past the end"), ("before", "before the start")])
def test_a_write_into_the_slack_is_seen(gpu: Gpu, offset: str, where: str) -> None:
    code, out, case = run(gpu, "fence_past", offset, "1000")
    told = [f for f in case["findings"] if f["id"] == "write-outside-allocation"]
    assert (code, out) == (0, "sync: cudaSuccess\n")
    assert len(told) == 1 and where in told[0]["message"] and case["diagnosis"][0]["status"] == "likely"


def test_managed_memory_is_said_to_have_no_fence(gpu: Gpu) -> None:
    code, _, case = run(gpu, "managed")
    assert code == 0 and "managed" in fence(case)["saw"]
