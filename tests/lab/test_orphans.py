"""A gpudx that is killed leaves no program running; one that ends leaves the program's own background work alone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from test_recorded import start, wait_for

from gpudx.lab.recorded import run_recorded


def _gone(pid: int, seconds: float = 15) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":  # nobody in this container may be there to reap it
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("script", ["sleep 60", "trap '' TERM; sleep 60; sleep 60"], ids=["plain", "ignores SIGTERM"])
def test_a_killed_gpudx_leaves_nothing(recorder: Path, tmp_path: Path, script: str) -> None:
    """Neither the first process nor its children, even if they ignore SIGTERM."""
    command = f"sh -c 'echo $$ > child; {script.replace(chr(39), chr(34))}' & echo $$ > first; : > ready; {script}; wait"
    gpudx = start(tmp_path / "case", "sh", "-c", command, cwd=tmp_path)
    wait_for(tmp_path / "ready")
    wait_for(tmp_path / "child")
    time.sleep(0.2)
    pids = [int((tmp_path / name).read_text()) for name in ("first", "child")]
    os.kill(gpudx.pid, signal.SIGKILL)
    gpudx.communicate(timeout=30)  # its output ends: nothing that inherited it is left
    assert [_gone(pid) for pid in pids] == [True, True]


def test_background_work_of_a_program_outlives_it(recorder: Path, tmp_path: Path) -> None:
    """As without gpudx: a program may leave a server behind."""
    left_at = tmp_path / "left"
    run_recorded(["sh", "-c", f"sleep 20 >/dev/null 2>&1 & echo $! > {left_at}"], tmp_path / "case")
    left = int(left_at.read_text())
    assert not _gone(left, 0.3)
    os.kill(left, signal.SIGKILL)


def test_the_program_sees_no_guard(recorder: Path, tmp_path: Path) -> None:
    """No further child, no further open file, no death signal."""
    looks = (
        "import ctypes, os; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n));"
        "pipes = [f for f in os.listdir('/proc/self/fd') if 'pipe' in os.path.realpath('/proc/self/fd/' + f) and int(f) > 2];"
        "print(n.value, pipes, open(f'/proc/self/task/{os.getpid()}/children').read())"
    )
    gpudx = start(tmp_path / "case", "python3", "-c", looks)
    assert gpudx.communicate(timeout=60)[0].split() == ["0", "[]"]
