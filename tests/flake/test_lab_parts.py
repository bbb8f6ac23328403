"""Small parts of the lab: a load that leaves nothing behind, other programs on the GPU, what threads share."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gpudx import backends
from gpudx.lab.load import busy
from gpudx.lab.strangers import strangers

COPY = (
    "import subprocess, sys, time; open(sys.argv[1], 'a').write('x'); subprocess.Popen(['sleep', '60']); time.sleep(60)"
)


def test_the_load_ends_with_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    before = {p.pid for p in psutil.process_iter()}
    with busy([sys.executable, "-c", COPY, str(mark)], {}):
        limit = time.monotonic() + 30
        while not mark.exists() or not any(_is_ours(p) for p in psutil.process_iter() if p.pid not in before):
            assert time.monotonic() < limit
            time.sleep(0.05)
    time.sleep(0.2)
    assert not [p.pid for p in psutil.process_iter() if p.pid not in before and _is_ours(p) and str(mark) in _line(p)]


def _is_ours(process: psutil.Process) -> bool:
    return "mark" in _line(process) or _line(process) == "sleep 60"


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_a_load_that_cannot_start_does_no_harm() -> None:
    with busy(["/nowhere/at/all"], {}):
        pass


def test_who_else_has_the_device_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands for a device's: there is no GPU on the machines that run this."""
    device = tmp_path / "device"
    device.touch()
    monkeypatch.setattr(backends, "device_files", lambda: (str(device),))
    assert strangers() == ()
    child = subprocess.Popen(["sleep", "30"], stdin=device.open())
    try:
        assert strangers() == (f"sleep ({child.pid})",)
        assert strangers([child.pid]) == ()
    finally:
        child.kill()
        child.wait()


def test_backends_name_their_device_files() -> None:
    assert "/dev/nvidia" in backends.device_files() and "/dev/kfd" in backends.device_files()
