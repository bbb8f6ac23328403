"""Victims are not culprits: a handle that was valid, and that a kernel on a CPU device has overwritten."""

from __future__ import annotations

import shutil

import pytest
from support.opencl import OpenCL

from gpudx.diagnose import diagnose


def test_an_overwritten_handle_is_not_the_cause(opencl: OpenCL) -> None:
    run = opencl.run("overwritten", "past")
    assert run.outcome.failed, "the kernel did not reach the variable"
    blamed = [(one.cause, one.status) for one in diagnose(run.findings, run.outcome)]
    assert not [pair for pair in blamed if pair[0] == "value-is-not-a-handle" and pair[1] in ("confirmed", "likely")], blamed
    told = [e.text for f in run.findings if f.id == "value-is-not-a-handle" for e in f.evidence]
    assert any("overwritten the variable" in text and "--fence" in text for text in told)


def test_a_program_that_stays_inside_is_left_alone(opencl: OpenCL) -> None:
    run = opencl.run("overwritten", "right")
    assert run.outcome.passed and not [f for f in run.findings if f.severity != "info"]


@pytest.mark.parametrize("mode", ["wild"])
def test_a_wild_value_before_any_launch_is_still_an_error(opencl: OpenCL, mode: str) -> None:
    assert opencl.run("not_a_handle", mode).only("value-is-not-a-handle").severity == "error"


@pytest.mark.pocl("Intel's driver refuses what is no handle, and does not crash")
def test_an_address_that_no_memory_can_have(opencl: OpenCL) -> None:
    """The kernel reports it as address 0: the report must not, and the instruction says what was accessed."""
    run = opencl.run("not_a_handle", "impossible")
    crash = run.only("crash-in-call")
    said = " ".join([crash.message, *(e.text for e in crash.evidence)])
    assert "address 0x0" not in said and "= value 0x0" not in said
    assert "0xc184c539c028f" in crash.message, crash.message


# ---- a real program ----


@pytest.fixture
def tuner() -> list[str]:
    """Debian's clblast-utils: a kernel of it leaves its third argument, and on PoCL the heap is overwritten."""
    found = shutil.which("clblast_tuner_xaxpy")
    if found is None:
        pytest.skip("clblast_tuner_xaxpy is not installed (apt install clblast-utils)")
    return [found, "-n", "65536", "-runs", "2"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_heap_of_a_real_program(opencl: OpenCL, tuner: list[str]) -> None:
    """It crashes anywhere, or not at all: no handle is blamed for it."""
    run = opencl.record(tuner, patience=400)
    blamed = [(one.cause, one.status) for one in diagnose(run.findings, run.outcome)]
    assert not [pair for pair in blamed if pair[0] == "value-is-not-a-handle" and pair[1] in ("confirmed", "likely")], blamed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_kernel_of_a_real_program(opencl: OpenCL, tuner: list[str]) -> None:
    run = opencl.record(tuner, patience=400, GPUDX_FENCE="high")
    (best, *_) = diagnose(run.findings, run.outcome)
    assert best.status == "confirmed" and best.guilty is not None
    assert (best.guilty.kernel, best.guilty.argument) == ("XaxpyFastest", 2)
