"""Launches that only read one buffer need no order, whether they declare it const or not."""

from __future__ import annotations

import sys

import pytest
from support.opencl import PROGRAMS, OpenCL

PROGRAM = PROGRAMS / "pyopencl_readers.py"


@pytest.mark.parametrize("words", [("read",), ("read", "binary")])
def test_two_readers_need_no_order(opencl: OpenCL, words: tuple[str, ...]) -> None:
    """Nothing says of a kernel from a binary whether it writes."""
    run = opencl.record([sys.executable, PROGRAM, *words])
    assert run.outcome.passed, run.output
    assert not [f.message for f in run.findings if f.severity != "info"]


def test_a_reader_and_a_writer_do(opencl: OpenCL) -> None:
    run = opencl.record([sys.executable, PROGRAM, "write"])
    assert run.outcome.passed, run.output
    assert [f.id for f in run.findings if f.severity != "info"] == ["unordered-access"]
