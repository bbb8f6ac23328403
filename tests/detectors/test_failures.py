"""ignored-error, failed-call and read-before-write."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL

IGNORED, FAILED, UNWRITTEN = "ignored-error", "failed-call", "read-before-write"


def test_failed_build_and_its_followers(opencl: OpenCL) -> None:
    run = opencl.run("ignored", "build")
    finding = run.only(IGNORED)
    assert run.outcome.kind != "passed"
    assert finding.severity == "error"
    assert finding.site is not None and finding.site.call == "clBuildProgram"
    assert [site.call for site in finding.others][:2] == ["clCreateKernel", "clSetKernelArg"]


def test_program_that_stops_at_the_failure(opencl: OpenCL) -> None:
    run = opencl.run("ignored", "checked")
    assert not run.of(IGNORED)
    finding = run.only(FAILED)
    assert finding.site is not None and finding.site.call == "clBuildProgram"
    assert any("nonsense" in e.text for e in finding.evidence), "the compiler's words are missing"


@pytest.mark.parametrize(
    ("mode", "severity"), [("copy", "warning"), ("copy and fail", "error"), ("argument", "warning")]
)
def test_refused_call_and_the_program_goes_on(opencl: OpenCL, mode: str, severity: str) -> None:
    run = opencl.run("ignored", mode)
    assert run.only(IGNORED).severity == severity
    assert not run.of(FAILED)


@pytest.mark.parametrize("mode", ["argument again", "probe", "right"])
def test_failures_that_were_dealt_with_are_silent(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("ignored", mode)
    assert run.outcome.kind == "passed"
    assert not run.findings


def test_probing_is_not_blamed_for_a_later_failure(opencl: OpenCL) -> None:
    run = opencl.run("ignored", "probe and fail")
    assert run.outcome.kind == "exit"
    assert not run.errors


def test_thousands_of_followers_are_one_finding(world: Make, look: Look) -> None:
    process = world()
    process.call("clCreateBuffer", context=process.context, size=1 << 50, status=-61)
    for _ in range(5000):
        process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=0, size=64, status=-38)
    (finding,) = [f for f in look(process, "exit") if f.id == IGNORED]
    assert "5,000 later calls failed" in finding.message
    assert (
        "clCreateBuffer failed with CL_INVALID_BUFFER_SIZE and the program went on; 5,000 later calls"
        in finding.message
    )


def test_doing_it_by_other_means_is_not_ignoring(world: Make, look: Look) -> None:
    """A buffer cannot be mapped, so it is read instead."""
    process = world()
    buffer = process.buffer(64)
    process.call("clEnqueueFillBuffer", queue=process.queue, buffer=buffer, size=64)
    process.call("clEnqueueMapBuffer", queue=process.queue, buffer=buffer, size=64, status=-12)
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=buffer, size=64)
    assert not look(process, "exit")


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("wrong", "Buffer #1 was read by clEnqueueReadBuffer before anything had written it"),
        ("copied", "Buffer #1 was read by clEnqueueCopyBuffer"),
        ("argument", "Buffer #1 was passed to kernel copy as argument 0 (float* in), which is read only,"),
    ],
)
def test_read_before_write(opencl: OpenCL, mode: str, text: str) -> None:
    finding = opencl.run("unwritten", mode).only(UNWRITTEN)
    assert finding.severity == "warning"
    assert text in finding.message


@pytest.mark.parametrize("mode", ["fill", "write", "host", "map", "part", "whole", "launch"])
def test_written_buffers_are_silent(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("unwritten", mode).findings
