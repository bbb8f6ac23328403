"""Calls through a second OpenCL loader are not recorded: what they did is unknown, not absent."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from support.opencl import PROGRAMS, OpenCL

from gpudx.facts.loaders import opencl_loaders

PROGRAM = PROGRAMS / "pyopencl_second_loader.py"
READ = "read-before-write"


def system_loader() -> str:
    found = sorted(Path("/usr/lib").glob("*-linux-gnu/libOpenCL.so.1"))
    spec = importlib.util.find_spec("pyopencl")
    own = list((Path(spec.origin).parent / ".libs").glob("libOpenCL*")) if spec and spec.origin else []
    if not found or not own:
        pytest.skip("needs the system's OpenCL loader, and pyopencl with one of its own")
    return str(found[0])


def test_a_buffer_written_through_a_second_loader(opencl: OpenCL) -> None:
    run = opencl.record([sys.executable, PROGRAM, system_loader()])
    assert run.outcome.passed, run.output
    assert len(run.facts.second_loader) == 2
    assert not [finding for finding in run.findings if finding.severity != "info"]


def test_with_one_loader_what_is_missing_is_absent(opencl: OpenCL) -> None:
    run = opencl.record([sys.executable, PROGRAM, "one"])
    assert not run.facts.second_loader
    assert run.only(READ).severity == "warning"


def test_loaders_by_their_names() -> None:
    line = "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 {}\n"
    names = ["/usr/lib/libOpenCL.so.1.0.0", "/venv/libOpenCL-5519dec5.so.1.0.0", "/x/libOpenCL_helper.txt", "/y/libpocl.so.2"]
    maps = "".join(line.format(name) for name in [*names, names[0]])
    assert opencl_loaders(maps) == tuple(sorted(names[:2]))
