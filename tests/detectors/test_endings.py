"""hang, crash-in-call and crash-outside-calls."""

from __future__ import annotations

import re

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL, in_flight, waits
from support.synthetic import GLOBAL, Arg
from support.typed import decoded as decoded_in

from gpudx.diagnose import diagnose
from gpudx.model import Outcome

HANG, IN_CALL, OUTSIDE = "hang", "crash-in-call", "crash-outside-calls"


def test_kernel_that_does_not_end(opencl: OpenCL) -> None:
    finding = opencl.run("hanging", "kernel", until=waits("clFinish", 3), GPUDX_CRUMBS="off").only(HANG)
    assert finding.severity == "error"
    assert finding.site is not None and (finding.site.call, finding.site.status) == ("clFinish", "in flight")
    assert "launch 3 of kernel spin" in finding.message and ", hanging.c:" in finding.message.partition("hung in clFinish")[2]
    assert "launch 1 " not in finding.message, "what a completed wait covers is done"


def test_event_that_nobody_completes(opencl: OpenCL) -> None:
    finding = opencl.run("hanging", "event", until=waits("clWaitForEvents", 2)).only(HANG)
    assert finding.site is not None and finding.site.call == "clWaitForEvents"
    assert "the event that clCreateUserEvent made in call" in finding.message


def test_hang_in_the_program_itself(opencl: OpenCL) -> None:
    finding = opencl.run(
        "hanging", "host", until=lambda trace: len(trace.named("clFinish")) == 1 and not in_flight(trace, "clFinish")
    ).only(HANG)
    assert finding.site is None
    assert "no GPU call was open" in finding.message


def test_program_that_ends_is_silent(opencl: OpenCL) -> None:
    assert not opencl.run("hanging", "right").findings


@pytest.mark.pocl("Intel's driver runs kernels also in the thread that waits for them")
def test_crash_in_a_kernel_is_not_blamed_on_a_call(opencl: OpenCL) -> None:
    run = opencl.run("crashing", "kernel")
    finding = run.only(OUTSIDE)
    assert run.outcome.signal == "SIGSEGV"
    assert finding.severity == "info"
    assert any("kernel far_away" in e.text for e in finding.evidence)
    assert not run.errors


def test_host_pointer_of_a_copy_is_found_in_the_fault_address(opencl: OpenCL) -> None:
    run = opencl.run("crashing", "call")
    (finding,) = (*run.of(OUTSIDE), *run.of(IN_CALL))
    assert "ptr 0x123456789000 + " in decoded_in(finding)


def test_crash_in_the_program_itself(opencl: OpenCL) -> None:
    finding = opencl.run("crashing", "host").only(OUTSIDE)
    assert "main at crashing.c:" in finding.message


def test_abort(opencl: OpenCL) -> None:
    run = opencl.run("crashing", "abort")
    finding = run.only(OUTSIDE)
    assert finding.message.startswith("The process crashed with SIGABRT")
    # The kernel gives SIGABRT no address, and the zero in its place is none.
    assert finding.access is not None and finding.access.address is None
    assert not re.search(r"\b0x0\b|fault(ing)? address", str(finding))
    assert (finding.access.source or "").endswith("/crashing.c:24") and "called by main at crashing.c:24" in finding.message
    assert not run.errors


def test_assertion_of_the_program_is_named_with_its_line(opencl: OpenCL) -> None:
    finding = opencl.run("crashing", "assert").only(OUTSIDE)
    assert finding.message == "An assertion of the program failed in expect_none at crashing.c:6, and SIGABRT ended the process."


def test_library_function_is_named_with_the_line_that_called_it(opencl: OpenCL) -> None:
    finding = opencl.run("crashing", "library").only(OUTSIDE)
    assert re.search(r"in strlen, called by main at crashing\.c:\d+, reading", finding.message), finding.message
    assert finding.access is not None and finding.access.by == "host"


def test_no_crash_is_silent(opencl: OpenCL) -> None:
    assert not opencl.run("crashing", "right").findings


@pytest.mark.parametrize(("address", "decoded"), [(0x123456008, True), (0x7F0000000000, False)])
def test_fault_address_of_a_launch(world: Make, look: Look, address: int, decoded: bool) -> None:
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, process.buffer(64, result=0x123456000))
    process.launch(kernel, (64,), open_=True)
    process.header.update(signal=11, signal_code=1, signal_tid=1, signal_flags=1, signal_address=address, ended=0)
    (finding,) = [f for f in look(process, "signal", signal="SIGSEGV") if f.id == IN_CALL]
    assert bool(decoded_in(finding)) == decoded
    if decoded:
        assert "argument 0 (float* data) 0x123456000 (buffer #1) + 0x8" in finding.message


def test_other_threads_calls_are_not_blamed(world: Make, look: Look) -> None:
    process = world()
    process.call("clFinish", queue=process.queue, tid=7, open_=True)
    process.header.update(signal=11, signal_code=1, signal_tid=8, signal_flags=1, signal_address=0x10, ended=0)
    found = look(process, "signal", signal="SIGSEGV")
    assert [f.id for f in found] == [OUTSIDE]


def test_a_call_in_flight_is_not_blamed_where_the_thread_that_died_is_not_known(world: Make, look: Look) -> None:
    """The program's own handler took the signal: a thread of the driver may have died while the program waited."""
    process = world()
    process.call("clFinish", queue=process.queue, tid=7, open_=True)
    process.header.update(ended=0)
    (finding,) = look(process, "signal", signal="SIGABRT")
    assert (finding.id, finding.severity) == (IN_CALL, "info")
    assert "clFinish" in finding.message and "not known which thread died" in finding.message
    assert not any("reached" in e.text for e in finding.evidence)


def test_a_wrong_value_in_the_call_in_flight_is_likely_where_the_thread_is_not_known(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    process.buffer(0x48000)
    process.set_arg(kernel, 0, 0x48000, open_=True)
    process.header.update(ended=0)
    found = look(process, "signal", signal="SIGSEGV")
    told = diagnose(found, Outcome("signal", "", signal="SIGSEGV"))
    assert [(one.cause, one.status) for one in told] == [("value-is-not-a-handle", "likely")]
    assert "not known which thread died" in told[0].reason
