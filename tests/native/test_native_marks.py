"""gpudx_mark: named parts of a run, with the real recorder; without it, and with it turned off, nothing happens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.opencl import find_recorder

from gpudx.facts import derive
from gpudx.trace import open_trace

PROGRAM = """
import ctypes
from gpudx.pytest_plugin import marker
mark = marker()
if mark:
    ctypes.set_errno(7)
    mark(True, "first \\udcff")
    mark(True, "k" * 100_000)
    ctypes.CDLL(None).gpudx_mark(1, None)
    mark(False, "first \\udcff")
print(mark is not None)
"""


def run(folder: Path, *, loaded: bool, on: bool) -> str:
    recorder = find_recorder()
    if recorder is None:
        pytest.skip("the recorder is not built")
    own = {"PYTHONPATH": os.pathsep.join(sys.path)}
    own |= {"LD_PRELOAD": str(recorder)} if loaded else {}
    own |= {"GPUDX_DIR": str(folder)} if on else {}
    base = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "GPUDX_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**base, **own}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_marks_are_recorded(tmp_path: Path) -> None:
    assert run(tmp_path, loaded=True, on=True) == "True"
    (path,) = tmp_path.glob("*.gdx")
    trace = open_trace(path)
    marks = derive(trace).marks
    assert len(marks) == 3  # a name that is none is no mark
    texts = [trace.text(int(position)) for position in marks.position]
    assert texts[0] == "first \\udcff" and texts[1] == "k" * 4096
    assert marks.at(len(trace)) == ""


@pytest.mark.parametrize(("loaded", "on"), [(False, False), (False, True), (True, False)])
def test_without_the_recorder_nothing_happens(tmp_path: Path, loaded: bool, on: bool) -> None:
    assert run(tmp_path, loaded=loaded, on=on) == str(loaded)
    assert not list(tmp_path.glob("*.gdx"))
