"""The incidents that need no GPU, end to end as a user runs them: built, run, diagnosed, reported.

Those of OpenCL run on a real driver; those of HIP are built by the real hipcc and run on a simulated runtime.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import forked

from gpudx.demos.incidents import every

NO_HIPCC = pytest.mark.skipif(shutil.which("hipcc") is None, reason="hipcc is not installed")
MARKS = {"opencl": (), "hip": (NO_HIPCC,)}
# hipcc takes longer than all else. hip/test_hip_shapes.py asks the same of each of these programs and its twin, built once.
BUILT_ELSEWHERE = (NO_HIPCC, pytest.mark.slow)


def on_cpu(built_here: str = "") -> list[Any]:
    """The incidents; of those of HIP only this one, unless GPUDX_SLOW=1 asks for all."""
    found = [(name, one.backend) for name, one in sorted(every().items()) if one.backend in MARKS]
    slow = {name for name, backend in found if backend == "hip" and name != built_here}
    return [pytest.param(name, marks=BUILT_ELSEWHERE if name in slow else MARKS[backend]) for name, backend in found]


def gpudx(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return forked.gpudx(*words)


@pytest.mark.parametrize("name", on_cpu("hip-rope-misattributed"))
def test_fault_is_named(name: str, tmp_path: Path) -> None:
    """A race may let one run through; three in a row it does not."""
    for turn in range(3):
        done = gpudx("demo", name, "--case", tmp_path / str(turn))
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    assert "as expected" in done.stderr


@pytest.mark.parametrize("name", on_cpu())
def test_twin_is_clean(name: str, tmp_path: Path) -> None:
    done = gpudx("demo", name, "--twin", "--case", tmp_path / "case")
    assert done.returncode == 0, done.stderr
    findings = json.loads((tmp_path / "case" / "case.json").read_text())["findings"]
    assert not [f["message"] for f in findings if f["severity"] == "error"]


@pytest.fixture(scope="module")
def first_story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case of the incident that the project began with."""
    case = tmp_path_factory.mktemp("story") / "case"
    gpudx("demo", "opencl-set-rows-q4_0", "--case", case)
    return case


def test_the_first_story_in_full(first_story: Path) -> None:
    """The call, the kernel, the argument, the value, and what the value really was."""
    case = json.loads((first_story / "case.json").read_text())
    best = case["diagnosis"][0]
    guilty = best["guilty"]
    assert (best["cause"], best["status"]) == ("value-is-not-a-handle", "confirmed")
    assert (guilty["call"], guilty["kernel"], guilty["argument"]) == ("clSetKernelArg", "restore_q4_0", 1)
    assert guilty["value"] == "0x48000" and guilty["allocation"]["size"] == 0x48000
    assert guilty["source"].endswith("tensor.c:195")
    assert any("tensor.c" in frame for frame in guilty["host_stack"])
    assert case["outcome"]["signal"] == "SIGSEGV"


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_every_format_tells_it(form: str, first_story: Path) -> None:
    done = gpudx("report", first_story, "--format", form)
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("0x48000", "clSetKernelArg", "294"))
