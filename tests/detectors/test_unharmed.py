"""What the recorder must survive, and what it says where a crash is its own or has no address."""

from __future__ import annotations

import subprocess

import pytest
from support.opencl import PROGRAMS, OpenCL

from gpudx.facts.instruction import impossible_access


def plain(opencl: OpenCL, mode: str) -> tuple[int, str]:
    done = subprocess.run(
        [opencl.build([PROGRAMS / "unharmed.c"]), mode],
        env=opencl.plain_environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("mode", ["unmapped", "remapped", "right"])
def test_an_argument_that_the_driver_never_reads(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("unharmed", mode)
    assert run.outcome.kind == "passed", run.output
    assert (0, run.output) == plain(opencl, mode)
    last = run.facts.trace.last_words
    assert last is None


@pytest.mark.parametrize("options", [{}, {"GPUDX_CRUMBS": "all"}, {"GPUDX_SERIALISE": "1"}, {"GPUDX_WATCH": "1"}, {"GPUDX_POISON": "cb"}])
def test_a_launch_that_never_begins(opencl: OpenCL, options: dict[str, str]) -> None:
    """A command of ours behind it fails with it; PoCL 3.1 ends the program if nobody holds that command's event."""
    run = opencl.run("unharmed", "failed_event", **options)
    assert run.outcome.kind == "passed", run.output
    assert (0, run.output) == plain(opencl, "failed_event")
    assert not run.errors


def test_what_could_not_be_read_is_marked(opencl: OpenCL) -> None:
    trace = opencl.run("unharmed", "unmapped").facts.trace
    info = trace.schema.by_name("clSetKernelArg")
    assert info
    refused = [trace.record(int(p)) for p in trace.select(info) if trace.column("status")[p] == -49]
    assert [r["value"] for r in refused] == [0]


def test_gpudx_takes_the_blame_for_its_own_crash(opencl: OpenCL) -> None:
    run = opencl.run("unharmed", "own")
    assert run.outcome.signal == "SIGSEGV"
    (finding,) = run.errors
    assert finding.message.startswith("gpudx crashed the program: SIGSEGV in ")
    assert "libgpudx" in finding.message
    assert not finding.causes


def test_an_address_that_the_kernel_does_not_name(opencl: OpenCL) -> None:
    run = opencl.run("unharmed", "impossible")
    words = run.facts.trace.last_words
    assert words is not None
    assert words.code == 128
    assert words.fault_address is None
    access = impossible_access(words)
    assert access is not None
    assert (access.address, access.writes) == (0xDEADBEEFDEADBEEF + 8, True)
    (finding,) = (f for f in run.findings if f.id == "crash-outside-calls")
    assert "0x0" not in finding.message
    assert "0xdeadbeefdeadbef7" in finding.message


def test_a_recorded_address_is_the_kernels(opencl: OpenCL) -> None:
    words = opencl.run("crashing", "host").facts.trace.last_words
    assert words is not None
    assert words.fault_address == 0x10
    assert not words.in_recorder
