"""Planted HIP programs have the same verdicts on the simulated runtime in the shapes of HIP 5.2 and HIP 7, and their correct twins none.

`GPUDX_HIP_SIM_SHAPE=7 tools/test tests/hip` runs all HIP tests in the later shape.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hip_kit import Kit

from gpudx import casefile
from gpudx.backends.hip.simulated import SHAPE, SHAPES
from gpudx.demos import incidents

INCIDENTS = sorted(name for name in incidents.every() if name.startswith("hip-"))
FAULTS = {"past": "out-of-bounds-access", "first": "out-of-bounds-access", "freed": "use-after-free", "null": "null-pointer"}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(SHAPE, request.param)
    return str(request.param)


@pytest.mark.parametrize("name", INCIDENTS)
def test_incidents(kit: Kit, tmp_path: Path, shape: str, name: str) -> None:
    incident = incidents.every()[name]
    case = kit.case_of(kit.incident(name), tmp_path, **incident.environment)
    assert incidents.differences(incident, casefile.read(tmp_path / "case"), False) == []
    assert case["diagnosis"][0]["status"] == "confirmed"


@pytest.mark.parametrize("name", INCIDENTS)
def test_twins(kit: Kit, tmp_path: Path, shape: str, name: str) -> None:
    incident = incidents.every()[name]
    case = kit.case_of(kit.incident(name, twin=True), tmp_path, **incident.environment)
    assert case["outcome"]["kind"] == "passed" and not [f for f in case["findings"] if f["severity"] == "error"]


@pytest.mark.parametrize("what", FAULTS)
def test_faults_that_the_runtime_prints(kit: Kit, tmp_path: Path, shape: str, what: str) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, what, GPUDX_HIP_SIM_FAULT="abort")
    assert case["diagnosis"][0]["cause"] == FAULTS[what]


def test_a_correct_program(kit: Kit, tmp_path: Path, shape: str) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "good", GPUDX_HIP_SIM_FAULT="abort")
    assert case["outcome"]["kind"] == "passed" and not [f for f in case["findings"] if f["severity"] != "info"]
