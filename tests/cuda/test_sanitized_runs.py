"""gpudx run --sanitize from end to end: recorded calls of the fake driver, and the report of a stand-in for the tool."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from cuda_kit import OURS, Kit
from support import forked, stand_in_sanitizer
from support.own import PYTHONPATH
from support.sanitizer import BANNER, api_error, invalid, marked, race, report

from gpudx import casefile
from gpudx.model import Case
from gpudx.report import render

SCALE = "_Z5scalePfi"
FAULT = {"FAKE_CUDA_FAIL": "cuLaunchKernel:2:719"}
OVERRUN = report(
    invalid(SCALE, "{memory}", block=3, thread=200), api_error("cuCtxSynchronize", 719, "CUDA_ERROR_LAUNCH_FAILED")
)


@dataclass(frozen=True)
class Sanitize:
    """Runs the program under the stand-in."""

    kit: Kit
    folder: Path

    def __call__(self, *words: str, report: str = "", status: int = 0, **more: str) -> tuple[Case, str]:
        tool = stand_in_sanitizer.install(self.folder / "bin")
        case = self.folder / f"case-{len(list(self.folder.iterdir()))}"
        env = {name: value for name, value in os.environ.items() if name not in OURS}
        env |= {
            "PATH": f"{tool.parent}:{os.environ['PATH']}", "GPUDX_LIB": str(self.kit.recorder),
            "LD_LIBRARY_PATH": str(self.kit.driver), "PYTHONPATH": PYTHONPATH,
            "STAND_IN_REPORT": report, "STAND_IN_MEMORY": str(self.folder / "memory"), **more,
        }  # fmt: skip
        done = forked.gpudx("run", "--case", case, *words, "--", self.kit.program("overrun"), env=env)
        assert done.returncode == status, done.stderr
        return casefile.read(case), done.stdout + done.stderr


@pytest.fixture
def sanitize(kit: Kit, tmp_path: Path) -> Sanitize:
    return Sanitize(kit, tmp_path)


def test_an_overrun_is_told_by_launch_argument_and_buffer(sanitize: Sanitize) -> None:
    case, said = sanitize("--sanitize", report=OVERRUN, status=3, **FAULT)
    assert "sync: 719" in said and "gpudx: CONFIRMED out-of-bounds-access " in said
    best = case.diagnosis[0]
    assert best.guilty and (best.guilty.launch, best.guilty.argument, best.guilty.kernel) == (2, 0, "scale")
    assert best.guilty.allocation and best.guilty.allocation.size == 1000
    assert best.access and best.access.source == "scale.cu:12" and (best.guilty.source or "").endswith("overrun.c:23")
    assert "right past the end of argument 0" in best.summary and best.reason.startswith("compute-sanitizer saw the access itself")
    assert best.victim and best.victim.site and best.victim.site.call == "cuCtxSynchronize"
    assert case.outcome.exit_code == 3 and case.command[-1].endswith("overrun-BY_DLSYM")
    tool = case.instruments[-1]
    assert (tool.name, tool.state, tool.version) == ("compute-sanitizer memcheck", "live", "1999.1.0")
    assert tool.saw == "Its summary counts 2 errors in 1 process."
    (recorder,) = [one for one in case.instruments if one.name == "recorder"]
    assert recorder.state == "live" and "overrun" in recorder.saw and "python" not in recorder.saw
    follower = next(f for f in case.findings if f.id == "sanitizer-api-error")
    assert follower.severity == "info" and follower.evidence[0].raw == f"sanitizer/{_report(case).name}"


def _report(case: Case) -> Path:
    (only,) = (Path(case.directory) / "sanitizer").glob("*.txt")
    return only


def test_a_clean_run(sanitize: Sanitize) -> None:
    case, said = sanitize("--sanitize=synccheck", "--error-exitcode", "9", report=report())
    assert case.diagnosis == () and case.findings == () and said.count("\n") == 2
    assert "compute-sanitizer synccheck: Its summary counts 0 errors in 1 process." in said
    assert any("synccheck checks only barriers" in text for text in case.not_checked)


@pytest.mark.parametrize(
    ("text", "does", "says"),
    [
        ("", "", "It printed no summary, so nothing was checked (it ended with status 255)."),
        ("", "crash", "It printed no summary, so nothing was checked (it crashed with SIGSEGV)."),
        (BANNER + marked("Error: Failed to do its work"), "", "it reports: Error: Failed to do its work."),
    ],
)
def test_a_silent_tool_is_not_clean(sanitize: Sanitize, text: str, does: str, says: str) -> None:
    case, said = sanitize("--sanitize", "--error-exitcode", "9", report=text, STAND_IN_DOES=does, status=9)
    assert case.outcome.kind == "passed" and "gpudx: NOT CHECKED" in said
    assert case.instruments[-1].state == "not live" and says in case.instruments[-1].saw
    assert {f.id for f in case.findings} == {"sanitizer-did-not-run"}


def test_a_silent_tool_beside_a_fault_that_was_recorded(sanitize: Sanitize) -> None:
    case, said = sanitize("--sanitize", status=3, **FAULT)
    assert case.diagnosis[0].cause != "recorder-not-loaded"
    said = " ".join(said.split())
    assert "unchecked in kernels: bounds, uninitialized reads, races; compute-sanitizer memcheck did not work" in said


def test_a_tool_that_starts_nothing(sanitize: Sanitize) -> None:
    case, said = sanitize("--sanitize", STAND_IN_DOES="nothing", status=255)
    assert case.outcome.kind == "not started" and "gpudx: NOT CHECKED" in said and "sync:" not in said
    assert case.diagnosis == () and case.observations[0].outcome == "not reached"


def test_a_race_in_a_run_that_passes(sanitize: Sanitize) -> None:
    case, said = sanitize("--sanitize=racecheck", "--error-exitcode", "9", report=race(SCALE), status=9)
    assert "sync: 0" in said and case.diagnosis[0].cause == "race-in-kernel"
    assert case.diagnosis[0].status == "confirmed"  # a race lies in the kernel's code, whichever of its launches showed it


def test_narrowed_to_a_kernel_that_is_innocent(sanitize: Sanitize) -> None:
    case, said = sanitize("--sanitize", "--kernel", "other", report=report(), status=3, **FAULT)
    assert "sanitizer-narrowed" in {f.id for f in case.findings}
    assert "Launches of other kernels than other: they were filtered out." in case.not_checked
    assert "checked: bounds (only launches of other); unchecked in kernels: uninitialized reads" in " ".join(said.split())
    told = next(f.message for f in case.findings if f.id == "sanitizer-narrowed")
    assert "a launch outside that filter may be the one: gpudx run --sanitize=memcheck -- " in told
    assert "a launch outside that filter may be the one" in " ".join(render(case, "terminal").split())
