"""Poisoned and watched memory on a real GPU, and frameworks whose pools are seen through."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from test_on_gpu import Gpu, gpu

__all__ = ["gpu"]  # the fixture

pytestmark = pytest.mark.gpu
SMOKES = Path(__file__).resolve().parents[2] / "benchmarks/cuda"


def run(gpu: Gpu, name: str, *options: str, words: tuple[str, ...] = ()) -> dict[str, Any]:
    ran = gpu.run(name, *options, words=words)
    assert ran.recorded == ran.plain[:2] and ran.plain[0] == 0
    return ran.case


@pytest.mark.parametrize("pattern", ["cb", "nan"])
def test_memory_that_nobody_wrote_is_told_with_its_reader(gpu: Gpu, pattern: str) -> None:
    case = run(gpu, "fresh", f"--poison={pattern}")
    (told,) = [f for f in case["findings"] if f["id"] == "unwritten-memory-read-back"]
    assert "1,000 words of memory #2" in told["message"] and told["others"][0]["kernel"] == "take"
    (read,) = [f for f in case["findings"] if f["id"] == "read-before-write"]
    assert (
        read["message"].startswith("Memory #1 was passed to kernel take as argument 1") and read["site"]["launch"] == 1
    )


def test_written_memory_is_not_told(gpu: Gpu) -> None:
    case = run(gpu, "fresh", "--poison", words=("written",))
    assert [f for f in case["findings"] if f["severity"] != "info"] == []


def test_a_write_into_a_bystander_is_told_with_its_launch(gpu: Gpu) -> None:
    best = gpu.run("off_by_one", "--watch", plainly=False).best  # it is run twice, and prints twice
    assert (
        best["cause"] == "write-into-bystander"
        and best["guilty"]["kernel"] == "fill"
        and "memory #2" in best["summary"]
    )


@pytest.mark.parametrize("name", ["vector_add", "async_alloc", "graph_capture", "multi_stream", "by_value"])
@pytest.mark.parametrize("option", ["--watch", "--poison"])
def test_correct_programs_run_as_before_and_are_clean(gpu: Gpu, name: str, option: str) -> None:
    assert [f["id"] for f in run(gpu, name, option)["findings"] if f["severity"] == "error"] == []


@pytest.mark.parametrize("option", ["--fence", "--fence=low", "--poison=nan", "--watch"])
@pytest.mark.parametrize("name", ["torch", "cupy", "triton"])
def test_frameworks(gpu: Gpu, name: str, option: str) -> None:
    """Their pools are switched off, and they work all the same."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"needs {name}")
    ran = gpu.run(name, option, plainly=False, words=(sys.executable, str(SMOKES / f"{name}_smoke.py")))
    assert ran.recorded[0] == 0 and "ok" in ran.recorded[1].split() and ran.errors == []
    assert not any("not seen through" in one["saw"] for one in ran.case["instruments"])
