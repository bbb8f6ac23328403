"""However a run ends, there is the verdict of what was recorded so far, or one clear sentence; never a traceback."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.opencl import PROGRAMS, OpenCL

import gpudx
from gpudx import casefile
from gpudx.detectors.hang import PATIENCE_S
from gpudx.errors import UserError
from gpudx.trace import open_trace

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(opencl: OpenCL, tmp_path: Path) -> Start:
    """start(command): gpudx run of a command, in a process group of its own; its case is in tmp_path/case."""

    def begin(*command: object, **options: object) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "gpudx", "run", "--case", str(tmp_path / "case"), "--", *map(str, command)]
        own = {"PYTHONPATH": str(Path(gpudx.__file__).parents[1]), "GPUDX_CASES": "none"}
        env = {**os.environ, **opencl.loader.environment, "POCL_CACHE_DIR": str(opencl.kernels), **own}
        given = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": env, "start_new_session": True}
        return subprocess.Popen(words, **{**given, **options})  # type: ignore[call-overload,no-any-return]

    return begin


@pytest.fixture
def hanging(opencl: OpenCL) -> Path:
    return opencl.build([PROGRAMS / "hanging.c"])


def wait_for_calls(case: Path, seconds: float = 60) -> None:
    """Until the program waits for its last event."""
    limit = time.monotonic() + seconds
    while not any(map(is_waiting, (case / "traces").glob("*.gdx"))):
        assert time.monotonic() < limit, "the program never waited"
        time.sleep(0.05)
    time.sleep(2 * PATIENCE_S)  # a shorter wait is not called a hang


def is_waiting(path: Path) -> bool:
    try:
        trace = open_trace(path)
    except UserError:  # it is being made
        return False
    wait = trace.schema.by_name("clWaitForEvents")
    return wait is not None and bool((trace.column("end", trace.select(wait)) == 0).any())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_hang_that_somebody_ends(start: Start, hanging: Path, tmp_path: Path, number: signal.Signals) -> None:
    run = start("sh", "-c", f"exec {hanging} event")
    wait_for_calls(tmp_path / "case")
    os.killpg(run.pid, number) if number == signal.SIGINT else os.kill(run.pid, number)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == -number
    case = casefile.read(tmp_path / "case")
    assert case.outcome.signal == number.name
    words = " ".join(said.split())
    assert "Traceback" not in words and "none was in flight" not in words, words
    assert "clWaitForEvents" in words, words


def test_the_program_is_killed(start: Start, hanging: Path, tmp_path: Path) -> None:
    run = start(hanging, "event")
    wait_for_calls(tmp_path / "case")
    (child,) = (int(pid) for pid in children(run.pid) if "hanging" in Path(f"/proc/{pid}/cmdline").read_text())
    os.kill(child, signal.SIGKILL)
    said = " ".join(run.communicate(timeout=60)[1].split())
    assert run.returncode == -signal.SIGKILL and "SIGKILL" in said and "clWaitForEvents" in said and "Traceback" not in said


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_the_terminal_is_closed(start: Start, hanging: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    run = start(hanging, "event", stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    wait_for_calls(tmp_path / "case")
    os.close(master)
    os.kill(run.pid, signal.SIGHUP)  # as the kernel does for the session's leader
    run.wait(timeout=60)
    assert casefile.read(tmp_path / "case").outcome.signal == "SIGHUP"


def test_the_case_directory_is_removed(start: Start, tmp_path: Path) -> None:
    run = start("sh", "-c", f"rm -rf {tmp_path / 'case'}; exit 3")
    said = run.communicate(timeout=60)[1].strip()
    assert run.returncode == 3 and "Traceback" not in said and "bug in gpudx" not in said
    assert said.startswith("gpudx: ") and "--case" in said, said


def test_the_directory_is_removed_while_calls_are_recorded(start: Start, hanging: Path, tmp_path: Path) -> None:
    run = start(hanging, "event")
    wait_for_calls(tmp_path / "case")
    shutil.rmtree(tmp_path / "case")
    os.kill(run.pid, signal.SIGTERM)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == -signal.SIGTERM
    assert "Traceback" not in said and "bug in gpudx" not in said and "--case" in said, said


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk(start: Start, opencl: OpenCL, tmp_path: Path) -> None:
    """The program behaves as without gpudx, and one sentence says why there is no case."""
    (tmp_path / "case").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path / "case"], capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        program = opencl.build([PROGRAMS / "not_a_handle.c"])
        run = start(program, "right")
        said = run.communicate(timeout=60)[1]
        assert run.returncode == 0, said
        assert "Traceback" not in said and "bug in gpudx" not in said and "no GPU API call" not in said, said
        assert "No trace could be written" in said and "--case DIR" in said, said
    finally:
        subprocess.run(["umount", tmp_path / "case"], check=True)
