"""Workers of one run: the same fault in several of them is confirmed once, and who was only killed is not blamed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.builds import ROOT
from support.opencl import PROGRAMS, OpenCL, until_waiting

from gpudx.lab.recorded import run_recorded
from gpudx.model import Case
from gpudx.model.how import How
from gpudx.pipeline import diagnose_run

INCIDENT = ROOT / "incidents/opencl-set-rows-q4_0"


@pytest.fixture
def faulty(opencl: OpenCL) -> Path:
    return opencl.build(sorted(INCIDENT.glob("*.c")), name="set-rows")


def case_of(opencl: OpenCL, script: str, folder: Path) -> Case:
    how = How(timeout=120, output=folder / "output.txt", extra_env={**opencl.loader.environment})
    folder.mkdir()
    run = run_recorded(["sh", "-c", script], folder, how)
    return diagnose_run(run, ["sh", "-c", script], folder).case


def test_two_workers_with_the_same_fault(opencl: OpenCL, faulty: Path, tmp_path: Path) -> None:
    case = case_of(opencl, f"{faulty} & {faulty}; wait; exit 1", tmp_path / "case")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("value-is-not-a-handle", "confirmed")
    ending = "" if opencl.refuses_bad_handles else "SIGSEGV"
    assert len(best.processes) == 2 and {one.signal for one in case.processes} == {ending}
    said = next(one.text for one in best.evidence if one.text.startswith("seen in"))
    first = min(case.processes, key=lambda one: one.ended_at or 0.0)
    assert "2 of 2 recorded processes" in said and said.endswith(f"process {first.pid} failed first")
    assert len([one for one in case.findings if one.id == "value-is-not-a-handle"]) == 1


def test_a_worker_that_the_launcher_killed(opencl: OpenCL, faulty: Path, tmp_path: Path) -> None:
    """It hung in a call when its sibling crashed: it is named as killed, and not as a culprit."""
    hanging = opencl.build([PROGRAMS / "hanging.c"])
    waiting = tmp_path / "waiting"
    script = f"WAITING={waiting} {hanging} event & other=$!; {until_waiting(waiting, 1)}; {faulty}; kill -TERM $other; wait; exit 1"
    case = case_of(opencl, script, tmp_path / "case")
    best = case.diagnosis[0]
    assert (best.cause, best.status, len(best.processes)) == ("value-is-not-a-handle", "confirmed", 1)
    assert any(one.text.startswith("1 process was killed") for one in best.evidence)
