"""The line of a call that a template makes for its callers: theirs, although each instance of the template has one caller only."""

from __future__ import annotations

import shutil

import pytest
from support.opencl import PROGRAMS, OpenCL, Recorded


def ran(opencl: OpenCL, mode: str) -> Recorded:
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler (c++)")
    flags = ["-std=c++17", "-O1", "-g", "-fno-inline", "-fpermissive", "-w", f"-I{opencl.include}", f"-I{PROGRAMS}"]
    built = opencl.built("template_args", "c++", *flags, PROGRAMS / "template_args.cpp", *opencl.loader.link, "-lpthread")
    return opencl.record([built, mode])


def test_the_caller_of_a_template_is_shown(opencl: OpenCL) -> None:
    found = ran(opencl, "wide").only("argument-size")
    line = (PROGRAMS / "template_args.cpp").read_text().splitlines().index("        arguments.arg(count);") + 1
    assert found.site is not None and (found.site.source or "").endswith(f"template_args.cpp:{line}")


def test_the_correct_program_is_silent(opencl: OpenCL) -> None:
    run = ran(opencl, "right")
    assert run.outcome.passed and not run.errors
