"""gpudx run --sanitize: the words of the command line. The tool is a stand-in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_kit import HERE, Gpudx
from support import stand_in_sanitizer

from gpudx import casefile
from gpudx.cli import sanitizing
from gpudx.cli.run import has_faults
from gpudx.cli.run_options import with_value
from gpudx.errors import UserError
from gpudx.kernel_checks import syntax
from gpudx.lab import sanitized
from gpudx.model import Case, Instrument, Outcome


@pytest.fixture
def tool(tmp_path: Path) -> dict[str, str]:
    """The environment in which the stand-in is found; the arguments it was given are in `args`."""
    path = stand_in_sanitizer.install(tmp_path / "bin")
    return {"PATH": f"{path.parent}:{os.environ['PATH']}", "STAND_IN_ARGS": str(tmp_path / "args")}


def given(place: Path) -> list[str]:
    return (place / "args").read_text().splitlines()


@pytest.mark.parametrize(
    ("words", "check"),
    [
        (["--sanitize", "--"], "memcheck"),
        (["--sanitize"], "memcheck"),
        (["--sanitize=racecheck", "--"], "racecheck"),
        (["--case", "--sanitize", "--sanitize", "--"], "memcheck"),
        (["--timeout", "60", "--sanitize", "-q"], "memcheck"),
    ],
)
def test_the_check_and_the_command(
    gpudx_cli: Gpudx, tool: dict[str, str], tmp_path: Path, words: list[str], check: str
) -> None:
    done = gpudx_cli("run", *words, "echo", "--sanitize", "--kernel", "x", **tool)
    assert done.stdout == "--sanitize --kernel x\n" and done.returncode == 0, done.stderr
    assert given(tmp_path)[:2] == ["--tool", check] and "--kernel-name" not in given(tmp_path)


def test_an_option_that_stands_alone_gets_its_value() -> None:
    valued = {"--case"}
    assert with_value(["--x"], "--x", ["1", "3"], valued) == ["--x=1"]
    assert with_value(["--x=2", "-q", "--x"], "--x", ["1", "3"], valued) == ["--x=2", "-q", "--x=1"]
    assert with_value(["--case", "--x", "app", "--x"], "--x", ["1", "3"], valued) == ["--case", "--x", "app", "--x"]
    assert with_value(["--", "--x"], "--x", ["1", "3"], valued) == ["--", "--x"]
    assert with_value(["--x", "3", "app"], "--x", ["1", "3"], valued) == ["--x=3", "app"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sanitize=leaks"], "memcheck, racecheck, initcheck, synccheck and ptx"),
        (["--sanitize", "--dump"], "--dump and --sanitize exclude each other"),
        (["--kernel", "rope"], "add --sanitize"),
        (["--like", "case"], "add --sanitize"),
        (["--sanitize", "--like", "nowhere"], "There is no case"),
        (["--sanitize", "--kernel", "*"], "names no kernel"),
    ],
)
def test_wrong_use_is_one_sentence_and_runs_nothing(
    gpudx_cli: Gpudx, tool: dict[str, str], tmp_path: Path, words: list[str], says: str
) -> None:
    done = gpudx_cli("run", *words, "--", "echo", "never", **tool)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "gpudx-cases").exists()


def test_a_tool_that_does_not_work_is_said_before_anything_runs(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "compute-sanitizer").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "compute-sanitizer").chmod(0o755)
    done = gpudx_cli("run", "--sanitize=memcheck", "--", "echo", "never", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (2, "") and "pip install" in done.stderr
    assert not (tmp_path / "gpudx-cases").exists()


def test_a_signal_reaches_the_program_not_the_tool(
    environment: dict[str, str], tool: dict[str, str], tmp_path: Path
) -> None:
    script = "trap 'exit 7' TERM; touch ready; while :; do sleep 0.05; done"
    command = [sys.executable, str(HERE / "stand_in.py"), "run", "--sanitize", "--", "sh", "-c", script]
    env = {**environment, **tool, "STAND_IN": ""}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL) as running:
        limit = time.monotonic() + 30
        while not (tmp_path / "ready").exists() and time.monotonic() < limit:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 7


def test_like_an_earlier_case(gpudx_cli: Gpudx, tool: dict[str, str], tmp_path: Path) -> None:
    gpudx_cli("run", "--case", "first", "--", "echo", "a b", finds="confirmed", **tool)
    done = gpudx_cli("run", "--sanitize=synccheck", "--like", "first", "--case", "second", **tool)
    assert done.stdout == "a b\n"
    words = given(tmp_path)
    assert words[1] == "synccheck" and words[words.index("--kernel-name") + 1] == "kernel_substring=restore"
    assert casefile.read(tmp_path / "second").command == ("echo", "a b")
    done = gpudx_cli("run", "--sanitize", "--like", "first", "--kernel", "other", "--", "echo", "mine", **tool)
    words = given(tmp_path)
    assert done.stdout == "mine\n" and words[words.index("--kernel-name") + 1] == "kernel_substring=other"


def test_like_a_case_that_names_no_kernel(gpudx_cli: Gpudx, tool: dict[str, str]) -> None:
    gpudx_cli("run", "--case", "first", "--", "echo", "x", **tool)
    done = gpudx_cli("run", "--sanitize", "--like", "first", **tool)
    assert done.returncode == 2 and "names no guilty kernel" in done.stderr


@pytest.mark.parametrize(("state", "faulty"), [("live", False), ("not live", True), ("missing", True)])
def test_a_tool_that_checked_nothing_is_not_clean(state: str, faulty: bool) -> None:
    tools = (Instrument("recorder", "live", ""), Instrument("compute-sanitizer memcheck", state, "It."))  # type: ignore[arg-type]
    assert has_faults(Case((), "", "", "", Outcome("passed", ""), tools)) == faulty
    other = (Instrument("API library", "not live", "It takes no layers."),)
    assert not has_faults(Case((), "", "", "", Outcome("passed", ""), other))


def test_values_of_options_that_may_stand_alone() -> None:
    """They are written down once more in the command line, which must not import the modules that have them."""
    from gpudx.backends.cuda.sanitizer import CHECKS
    from gpudx.cli.run_options import ALONE, KERNEL_CHECKS
    from gpudx.cli.sanitizing import AUTOMATIC
    from gpudx.kernel_checks.checks import ALL
    from gpudx.lab.fenced import EDGES
    from gpudx.lab.poisoned import PATTERNS
    from gpudx.lab.watched import AGAIN, ONCE

    checks = (AUTOMATIC, "opencl", "oclgrind", *CHECKS)
    assert KERNEL_CHECKS == ALL
    others = {"--fence": EDGES, "--poison": PATTERNS, "--watch": (AGAIN, ONCE), "--nan": ("1",)}
    assert {"--sanitize": checks, **others} == ALONE


def test_without_any_tool_the_packages_for_opencl_and_for_cuda_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A script does not show which API it uses."""

    def missing(check: str, kernel: str | None) -> None:
        raise UserError("compute-sanitizer is not installed.")

    monkeypatch.setattr(syntax, "available", lambda: False)
    monkeypatch.setattr(sanitized, "find", missing)
    with pytest.raises(UserError, match=r"need libclang: pip install 'gpudx\[opencl\]'\. For CUDA programs, compute-sanitizer is not"):
        sanitizing.choose(sanitizing.AUTOMATIC, None, False, tmp_path / "train.py")
