"""Hosts that wait in a loop of their own: what they wait for, and whether anything is left that may change it."""

from __future__ import annotations

import platform
import time

import pytest
from support.opencl import OpenCL, Recorded, in_flight

from gpudx.facts.host_threads import host_threads
from gpudx.lab.host_threads import keep
from gpudx.trace import Trace

ID = "host-waits-for-mapped-memory"
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="threads are looked at on x86-64 only")


def polls(trace: Trace) -> bool:
    """It has mapped the memory, and is in its loop."""
    if not len(trace.named("clEnqueueMapBuffer")) or in_flight(trace, "clEnqueueMapBuffer"):
        return False
    time.sleep(0.3)
    keep([trace.pid], trace.path.parent)
    return True


def run(opencl: OpenCL, mode: str) -> Recorded:
    return opencl.run("polled", mode, until=polls, GPUDX_CRUMBS="all")


@pytest.mark.pocl("beside Intel's own threads, nothing is said of the loop")
@pytest.mark.parametrize("mode", ["mapped", "elsewhere"])
def test_a_loop_on_mapped_memory_is_named(opencl: OpenCL, mode: str) -> None:
    found = run(opencl, mode)
    finding = found.only(ID)
    assert finding.site is not None and finding.site.source is not None
    assert finding.site.source.rpartition(":")[0].endswith("polled.c") and "wait_for" in finding.site.host_stack[-2]
    assert finding.inevitable, "a register holds the address that the loop reads"
    last = "clEnqueueFillBuffer" if mode == "elsewhere" else "launch 1 of kernel scale"
    assert last in finding.message
    assert any("clEnqueueMapBuffer" in e.text and "has returned" in e.text for e in finding.evidence)
    (hang,) = found.of("hang")
    assert "did not end" not in hang.message and "no GPU call was open" in hang.message


@pytest.mark.parametrize("mode", ["pending", "worker", "bare"])
def test_memory_that_may_still_change_is_not(opencl: OpenCL, mode: str) -> None:
    """A launch that has not begun may write it, another thread of the program may, or it is not the mapped memory."""
    found = run(opencl, mode)
    assert host_threads(found.facts), "the thread was seen"
    assert not found.of(ID)
