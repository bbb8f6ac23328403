"""Correct programs: nothing of severity error, whatever else they do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.opencl import PROGRAMS, ROOT, OpenCL
from support.typed import size

INCIDENTS = sorted({path.parent for path in (ROOT / "incidents").glob("opencl-*/*.c")})  # those that are compiled


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda path: path.name)
def test_twin_of_an_incident(opencl: OpenCL, incident: Path) -> None:
    program = opencl.build(sorted(incident.glob("*.c")), "-DTWIN", name=f"{incident.name}-twin")
    run = opencl.record([program])
    assert run.outcome.kind == "passed", run.output
    assert not run.findings


def test_queues_events_and_sub_buffers_in_python(opencl: OpenCL) -> None:
    run = opencl.record([sys.executable, PROGRAMS / "pyopencl_queues.py"])
    assert run.output.rstrip().endswith("right"), run.output
    assert not run.errors


def test_incident_set_rows(opencl: OpenCL) -> None:
    """Not correct, but told exactly: the seed of this tool."""
    folder = ROOT / "incidents/opencl-set-rows-q4_0"
    run = opencl.record([opencl.build(sorted(folder.glob("*.c")), name="set-rows")])
    finding = run.only("value-is-not-a-handle")
    assert run.outcome.signal == (None if opencl.refuses_bad_handles else "SIGSEGV")
    assert finding.site is not None
    assert (finding.site.kernel, finding.site.argument, finding.site.value) == ("restore_q4_0", 1, "0x48000")
    assert size(finding) == 0x48000
    assert "the byte size of buffer" in finding.message
