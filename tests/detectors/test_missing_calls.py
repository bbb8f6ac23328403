"""Calls that are not recorded: recorded again where that is possible, and otherwise every result says that they are missing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support import forked
from support.detecting import Look, Make
from support.opencl import PROGRAMS, OpenCL, Recorded
from support.synthetic import GLOBAL, Arg

from gpudx.trace import reader

ROUNDS = 3
MISSING = "calls through an OpenCL loader that was loaded later are missing"


def reopened(opencl: OpenCL) -> tuple[Path, str]:
    """The program, which must not hold the loader itself, and the loader; not every one can be closed."""
    loader = opencl.loader.link[0] if opencl.loader.link[0].startswith("/") else "libOpenCL.so.1"
    program = opencl.build([PROGRAMS / "reopened.c"], "-Wl,--as-needed", "-ldl", name="reopened")
    if subprocess.run([program, loader, str(ROUNDS), "right"], env=opencl.plain_environment, capture_output=True, timeout=240).returncode:
        pytest.skip("this loader cannot be closed and opened again")
    return program, loader


def recorded(opencl: OpenCL, *words: str, **environment: str) -> Recorded:
    program, loader = reopened(opencl)
    return opencl.record([program, loader, str(ROUNDS), *words], **environment)


def test_opencl_that_is_closed_and_opened_again(opencl: OpenCL) -> None:
    run = recorded(opencl, "right")
    assert run.outcome.passed, run.output
    assert len(run.facts.launches) == ROUNDS and not run.facts.trace.gaps


def test_a_fault_after_it_was_opened_again(opencl: OpenCL) -> None:
    finding = recorded(opencl, "wrong").only("argument-size")
    assert "passed 8 bytes for argument 1 (int k)" in finding.message


def test_instruments_that_keep_objects_say_what_they_missed(opencl: OpenCL, tmp_path: Path) -> None:
    pytest.importorskip("clang.cindex")
    program, loader = reopened(opencl)
    case = tmp_path / "case"
    words = ["run", "--sanitize=opencl", "--case", case, "--", program, loader, str(ROUNDS), "right"]
    done = forked.gpudx(*words, env=opencl.plain_environment, timeout=600)
    assert done.returncode == 0, done.stderr
    assert f"Not everything was recorded: {MISSING}." in " ".join(done.stderr.split())
    (process,) = json.loads((case / "case.json").read_text())["processes"]
    assert process["gaps"] == [MISSING]


@pytest.mark.parametrize(("lost", "told"), [(0, True), (1, False)])
def test_a_handle_that_the_driver_took_may_have_been_made_again(world: Make, look: Look, lost: int, told: bool) -> None:
    """The creation of the second buffer, at the address of the first, found no room in the trace."""
    process = world()
    process.header["lost_ledger"] = lost
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    buffer = process.buffer(64)
    process.release(buffer)
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, (16,))
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=buffer, size=64, blocking=1)
    process.release(buffer)
    assert bool([one for one in look(process) if one.severity == "error"]) == told


def test_a_handle_that_the_driver_refused_is_none(world: Make, look: Look) -> None:
    process = world()
    process.header["lost_ledger"] = 1
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    buffer = process.buffer(64)
    process.release(buffer)
    process.set_arg(kernel, 0, buffer, status=-38)
    assert [one for one in look(process, "exit") if one.id == "value-is-not-a-handle"]


@pytest.mark.parametrize(("missed", "told"), [(0, True), (reader.MISSED_LOADER, False)])
def test_what_is_absent_is_unknown_then(world: Make, look: Look, missed: int, told: bool) -> None:
    process = world()
    process.header["entries"] = missed
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=process.buffer(64), size=64, blocking=1)
    assert bool([one for one in look(process) if one.id == "read-before-write"]) == told
