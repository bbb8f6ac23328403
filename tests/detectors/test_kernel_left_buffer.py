"""A crashed kernel's own registers: the index that no buffer of the launch has, and crashes that are something else."""

from __future__ import annotations

import pytest
from support.opencl import OpenCL

ID = "kernel-left-buffer"


@pytest.mark.pocl("Intel's compiler puts work-items into vectors: no register holds the index of one")
def test_an_index_beyond_every_buffer_is_read_from_the_registers(opencl: OpenCL) -> None:
    run = opencl.run("far_index", "far")
    assert run.outcome.signal == "SIGSEGV"
    found = run.only(ID)
    assert found.site is not None and (found.site.kernel, found.site.argument) == ("spread", 1)
    assert "wrote 4 bytes at element 100,000,000,000 of argument 1 `out` (buffer #2, 4,096 bytes), which has 1,024." in found.message
    assert found.access is not None and (found.access.kind, found.access.width) == ("write", 4)
    (crash,) = run.of("crash-outside-calls") or run.of("crash-in-call")
    assert crash.access is not None and crash.access.kind == "write"


@pytest.mark.parametrize(("mode", "signal"), [("local", None), ("gone", "SIGSEGV"), ("right", None)])
def test_other_crashes_are_not_explained_so(opencl: OpenCL, mode: str, signal: str | None) -> None:
    run = opencl.run("far_index", mode)
    assert not run.of(ID)
    assert signal is None or run.outcome.signal == signal
