"""Is it the same failure? The device's errors are reported by whichever call comes next."""

from __future__ import annotations

import pytest

from gpudx.investigate import same_failure
from gpudx.model import Case, Evidence, Finding, Instrument, Interval, Outcome, Site, Symptom

ILLEGAL, FAILED = "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_FAILED"


def case(status: str, call: str, code: int = 1, tool: str = "recorder", kind: str = "exit") -> Case:
    found = Finding(
        id="device-error-reported",
        scope="symptom",
        symptom=Symptom("device error", interval=Interval(1, 0)),
        severity="error",
        message="A fault.",
        evidence=(Evidence("seen"),),
        site=Site(call, 1, 1, 1, status=status),
        facts=(("call", call),),
    )
    return Case(
        command=("app",),
        directory="",
        created="",
        version="",
        outcome=Outcome(kind, "", code),  # type: ignore[arg-type]
        instruments=(Instrument(tool, "live", ""),),
        findings=(found,) if status else (),
    )


@pytest.mark.parametrize(
    ("other", "means"),
    [
        (case(ILLEGAL, "cuStreamSynchronize", 3), "reproduced"),
        (case(FAILED, "cuCtxSynchronize"), "another failure"),
        (case(FAILED, "cuCtxSynchronize", 4, "compute-sanitizer memcheck"), "reproduced"),
        (case("", "", 1, "compute-sanitizer memcheck"), "reproduced"),
        (case("", "", 2, "compute-sanitizer memcheck"), "another failure"),
        (case("", "", 1), "another failure"),
        (case(ILLEGAL, "cuCtxSynchronize", 0, kind="passed"), "reproduced"),  # it went on after the error, and exited 0
        (case("", "", 0, kind="passed"), "passed"),
    ],
)
def test_the_same_error_of_the_device_is_the_same_failure(other: Case, means: str) -> None:
    wanted = same_failure.failure(case(ILLEGAL, "cuMemcpyDtoH_v2"))
    assert wanted is not None and same_failure.outcome(other, wanted) == means
