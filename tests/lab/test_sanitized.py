"""Programs below a sanitizer: their processes and their ends are their own. The tool is a stand-in."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from lab_kit import Build
from support import stand_in_sanitizer
from support.sanitizer import report

from gpudx.backends.cuda import sanitizer
from gpudx.errors import UserError
from gpudx.lab import sanitized
from gpudx.lab.loaded import Presence, judge
from gpudx.lab.outcome import outcome
from gpudx.lab.program import inspect
from gpudx.lab.recorded import RunResult, run_recorded
from gpudx.model.how import How


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sanitized.Sanitizer:
    """The stand-in, found as the tool would be."""
    path = stand_in_sanitizer.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_REPORT", report())
    return sanitized.find("memcheck")


def below(tool: sanitized.Sanitizer, case: Path, *command: str | Path, timeout: float | None = None) -> RunResult:
    return run_recorded([str(word) for word in command], case, How(sanitizer=tool, timeout=timeout))


def presence(run: RunResult, recorder: Path) -> Presence:
    return judge(run, lambda path: inspect(path, recorder))


def test_the_tool_is_found_with_its_version(tool: sanitized.Sanitizer, tmp_path: Path) -> None:
    assert tool == sanitized.Sanitizer("memcheck", f"{tmp_path}/bin/compute-sanitizer", "1999.1.0")


def test_a_missing_tool_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    nowhere = sanitizer.TOOL.__class__("compute-sanitizer", "use", "pip install it", programs=("compute-sanitizer",))
    monkeypatch.setattr(sanitizer, "TOOL", nowhere)
    with pytest.raises(UserError, match=r"compute-sanitizer is not installed: pip install it, or .* CUDA toolkit\."):
        sanitized.find("memcheck")
    (tmp_path / "compute-sanitizer").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "compute-sanitizer").chmod(0o755)
    with pytest.raises(UserError, match=r"does not work \(.*ended with status 3\)"):
        sanitized.find("memcheck")


def test_the_four_checks() -> None:
    with pytest.raises(UserError, match="memcheck, racecheck, initcheck or synccheck"):
        sanitized.find("leakcheck")


def test_the_programs_end_is_its_own(tool: sanitized.Sanitizer, recorder: Path, tmp_path: Path) -> None:
    run = below(tool, tmp_path / "a", "sh", "-c", "exit 5")
    assert run.returncode == 5 and run.signal is None and run.sanitized and run.sanitized.returncode == 255
    run = below(tool, tmp_path / "b", "sh", "-c", "kill -ABRT $$")
    assert run.returncode == -signal.SIGABRT and run.signal == "SIGABRT" and outcome(run).kind == "signal"
    run = below(tool, tmp_path / "c", "true")
    assert run.returncode == 0 and outcome(run).kind == "passed"
    assert [path.read_text() for path in (tmp_path / "c/sanitizer").glob("*.txt")] == [report()]


def test_the_recorder_is_looked_for_in_the_program_not_in_the_tool(
    tool: sanitized.Sanitizer, recorder: Path, tmp_path: Path, build: Build
) -> None:
    program = build("#include <unistd.h>\nint main(void){usleep(200000);return 3;}")
    run = below(tool, tmp_path / "a", program)
    assert presence(run, recorder) == Presence(True, (str(program),), 1)
    static = build("#include <unistd.h>\nint main(void){usleep(200000);return 3;}", "-static", name="static")
    found = presence(below(tool, tmp_path / "b", static), recorder)
    assert not found.loaded and found.reason == f"{static} is statically linked"
    found = presence(below(tool, tmp_path / "c", "env", "-i", program), recorder)
    assert not found.loaded and "without the environment" in found.reason
    found = presence(below(tool, tmp_path / "d", "sh", "-c", f"{static}; exit 4"), recorder)
    assert found.loaded and len(found.blind) == 1 and "statically linked" in found.blind[0]


def test_a_tool_that_starts_nothing(
    tool: sanitized.Sanitizer, recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_DOES", "nothing")
    run = below(tool, tmp_path / "a", "touch", tmp_path / "made")
    assert not run.started and run.exit_status == 255 and not (tmp_path / "made").exists()
    assert outcome(run).kind == "not started"
    assert presence(run, recorder) == Presence(False, (), 0, "it was not started")


def test_a_tool_that_crashes_does_not_hide_the_programs_end(
    tool: sanitized.Sanitizer, recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_DOES", "crash")
    run = below(tool, tmp_path / "a", "sh", "-c", "exit 5")
    assert run.returncode == 5 and run.sanitized and run.sanitized.returncode == -signal.SIGSEGV


def test_what_cannot_be_started(tool: sanitized.Sanitizer, recorder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF and nothing else")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(UserError, match="built for another machine") as caught:
        below(tool, tmp_path / "a", tmp_path / "broken")
    assert caught.value.exit_code == 126
    (tmp_path / "no-line").write_text('echo "$1"; exit 6\n')
    (tmp_path / "no-line").chmod(0o755)
    assert below(tool, tmp_path / "b", tmp_path / "no-line", "x").returncode == 6


def test_a_timeout_ends_the_program_too(tool: sanitized.Sanitizer, recorder: Path, tmp_path: Path) -> None:
    run = below(tool, tmp_path / "a", sys.executable, "-c", "import time; time.sleep(60)", timeout=2.0)
    assert run.timed_out and run.exit_status == 124
    assert not Path(f"/proc/{run.pid}").exists()


# ---- the command line of the tool ----


def test_the_tools_options(tmp_path: Path) -> None:
    words = sanitizer.command("/t", "initcheck", tmp_path / "50%", None, ["./app", "--tool"])
    given = dict(zip(words[1:-2:2], words[2:-2:2], strict=True))
    assert words[0] == "/t" and words[-2:] == ["./app", "--tool"]
    assert given["--tool"] == "initcheck" and given["--log-file"] == f"{tmp_path}/50%%/%p.txt"
    assert given["--target-processes"] == "all" and "--error-exitcode" not in given and "--kernel-name" not in given


@pytest.mark.parametrize(
    ("name", "filter_"),
    [
        ("rope", "kernel_substring=rope"),
        ("_Z4ropePf", "kernel_substring=_Z4ropePf"),
        ("void ns::fill<4, float>(float*, int)", "kernel_substring=fill"),
        ("(anonymous namespace)::fold<int>", "kernel_substring=fold"),
        ("regex:^_Z4rope.*f$", "regex=^_Z4rope.*f$"),
    ],
)
def test_kernel_filters(name: str, filter_: str) -> None:
    assert sanitizer.kernel_filter(name) == filter_


@pytest.mark.parametrize("name", ["a,b", "regex:", "*", "::"])
def test_what_names_no_kernel(name: str) -> None:
    with pytest.raises(UserError, match="names no kernel"):
        sanitizer.kernel_filter(name)
