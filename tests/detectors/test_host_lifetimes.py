"""host-memory-gone, host-access-during-kernel and private-memory-too-large, on a real OpenCL device that is the processor."""

from __future__ import annotations

import re

import pytest
from support.opencl import OpenCL

from gpudx.kernel_checks import syntax

PROGRAM = "host_lifetimes"
GONE, CHANGED, PRIVATE = "host-memory-gone", "host-access-during-kernel", "private-memory-too-large"
COMPARED = {"GPUDX_HOST_ARGS": "1"}


def test_a_buffer_whose_host_memory_was_unmapped(opencl: OpenCL) -> None:
    run = opencl.run(PROGRAM, "unmapped")
    assert run.outcome.signal == "SIGSEGV"
    one = run.only(GONE)
    assert one.causes == ("host-memory-freed-in-use",) and one.certainty == "observed"
    assert one.site is not None and (one.site.kernel, one.site.argument) == ("copy", 0)


def test_a_crash_at_other_memory_of_the_host_is_silent(opencl: OpenCL) -> None:
    run = opencl.run(PROGRAM, "another unmapped")
    assert run.outcome.signal == "SIGSEGV" and not run.of(GONE)


def test_a_copy_into_memory_that_is_too_small(opencl: OpenCL) -> None:
    run = opencl.run(PROGRAM, "short")
    assert run.outcome.signal == "SIGSEGV"
    one = run.only(GONE)
    assert one.causes == ("host-access-outside-buffer",) and one.steps and "8,192 bytes" in one.steps[0]
    missing = re.search(r"of which byte ([\d,]+) is not mapped", one.message)
    assert missing and 4096 <= int(missing[1].replace(",", "")) < 8192, one.message  # drivers begin at different bytes
    assert one.site is not None and one.site.call == "clEnqueueReadBuffer"


def test_a_crash_right_behind_a_complete_copy_is_silent(opencl: OpenCL) -> None:
    run = opencl.run(PROGRAM, "long enough")
    assert run.outcome.signal == "SIGSEGV" and not run.of(GONE)


def test_the_host_writes_before_the_kernel_is_complete(opencl: OpenCL) -> None:
    run = opencl.run(PROGRAM, "changed early", **COMPARED)
    one = run.only(CHANGED)
    assert one.certainty == "observed" and one.site is not None and (one.site.kernel, one.site.argument) == ("copy", 0)


def test_what_the_host_writes_in_a_map_is_no_fault_of_the_host(opencl: OpenCL) -> None:
    one = opencl.run(PROGRAM, "changed while mapped", **COMPARED).only(CHANGED)
    assert one.causes == ("buffer-used-while-mapped",) and "had it mapped for writing: call" in one.message
    assert not any("map the buffer for writing" in step for step in one.steps)


@pytest.mark.parametrize("mode", ["changed late", "only the kernel writes"])
def test_a_host_that_waits_is_silent(opencl: OpenCL, mode: str) -> None:
    run = opencl.run(PROGRAM, mode, **COMPARED)
    assert run.outcome.kind == "passed" and not run.of(CHANGED)


@pytest.mark.pocl("Intel's driver lets clFinish return, and dies later")
def test_a_private_array_that_is_larger_than_the_stack(opencl: OpenCL) -> None:
    pytest.importorskip("clang.cindex")
    syntax.need()
    run = opencl.run(PROGRAM, "large array")
    assert run.outcome.signal == "SIGSEGV"
    one = run.only(PRIVATE)
    assert one.site is not None and one.site.kernel == "large" and "50,331,648 bytes" in one.message


def test_a_small_array_in_a_process_that_dies_elsewhere_is_silent(opencl: OpenCL) -> None:
    """The source also has the large one, which was not launched."""
    run = opencl.run(PROGRAM, "small array")
    assert run.outcome.signal == "SIGSEGV" and run.traces and not run.of(PRIVATE)
