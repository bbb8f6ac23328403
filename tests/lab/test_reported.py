"""A tool that has reported faults and goes on counting: when a run under it may be ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudx.lab import sanitized
from gpudx.lab.outcome import outcome
from gpudx.lab.recorded import RunResult

BANNER = "========= COMPUTE-SANITIZER\n"
FAULT = "========= Invalid __global__ read of size 4 bytes\n=========     at step(int *)+0xe0 in a.cu:19\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(sanitized.time, "monotonic", lambda: now[0])
    return now


def test_only_a_quiet_tool_that_has_reported_faults_is_ended(tmp_path: Path, clock: list[float]) -> None:
    reported = sanitized.Reported(tmp_path)
    log = tmp_path / "1.txt"
    log.write_text(BANNER)
    assert not reported()
    clock[0] += 60
    assert not reported()  # a clean program may take minutes
    log.write_text(BANNER + FAULT)
    assert not reported()
    clock[0] += 1
    log.write_text(BANNER + FAULT * 2)
    assert not reported()  # still writing
    clock[0] += sanitized.QUIET_S + 1
    assert reported()


def test_a_run_that_was_ended_early_is_no_hang(tmp_path: Path) -> None:
    run = RunResult(("app",), "app", 1, -9, "SIGKILL", True, 4.0, tmp_path, (), ended_early=True)
    assert (outcome(run).kind, outcome(run).signal) == ("signal", None)
    assert outcome(replace(run, ended_early=False)).kind == "timeout"
