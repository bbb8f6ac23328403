"""Hangs on a real GPU: the line, who waits for whom, and for which memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from test_on_gpu import Gpu, gpu

__all__ = ["gpu"]  # the fixture

pytestmark = pytest.mark.gpu
LINES = {"branch": "hangs.cu:14", "grid": "hangs.cu:24", "flag": "hangs.cu:30"}


@pytest.mark.parametrize(
    ("how", "cause", "kernel"),
    [("branch", "barrier-misuse", "in_branch"), ("grid", "barrier-misuse", "some_blocks"), ("flag", "hang", "no_flag")],
)
def test_a_hang_is_explained_by_a_dump(gpu: Gpu, how: str, cause: str, kernel: str) -> None:
    best = gpu.run("hangs", "--dump", "--timeout", "8", plainly=False, words=(how,)).best
    assert best["cause"] in (cause, "hang") and kernel in best["summary"] and LINES[how] in json.dumps(best), best["summary"]


def test_a_polled_flag_is_named_with_its_buffer(gpu: Gpu) -> None:
    best = gpu.run("hangs", "--dump", "--timeout", "8", plainly=False, words=("flag",)).best
    assert "It waits for" in best["summary"] and "argument 0" in best["summary"], best["summary"]


@pytest.mark.parametrize(("how", "cause"), [("branch", "barrier-misuse"), ("grid", "barrier-misuse"), ("flag", "hang")])
def test_an_investigation_of_a_hang_names_the_line(gpu: Gpu, how: str, cause: str) -> None:
    case, began = gpu.folder / f"investigated-{how}", time.monotonic()
    command = [sys.executable, "-m", "gpudx", "investigate", "--budget", "60s", "--case", str(case), "--", str(gpu.program("hangs")), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    best = json.loads((case / "case.json").read_text())["diagnosis"][0]
    assert best["cause"] in (cause, "hang") and best["status"] in ("likely", "confirmed"), done.stdout
    assert LINES[how] in done.stdout and time.monotonic() - began < 75, done.stdout
