"""kernel-shared-by-threads: interleaved and overlapping calls are loud, locks and hand-overs are not."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.opencl import ROOT, OpenCL
from support.synthetic import GLOBAL, Arg, World

ID = "kernel-shared-by-threads"
INCIDENT = ROOT / "incidents/opencl-shared-kernel"


def test_interleaved_settings(opencl: OpenCL) -> None:
    run = opencl.run("shared_kernel", "mixed")
    finding = run.only(ID)
    assert finding.severity == "error"
    assert finding.count == 9  # three arguments in three rounds, and no calls at the same time
    assert not any("at the same time" in one.text for one in finding.evidence)
    assert [site.call for site in (*finding.others, finding.site) if site] == ["clSetKernelArg"] * 2 + [
        "clEnqueueNDRangeKernel"
    ]
    own, other = finding.others
    assert finding.site is not None and own.tid == finding.site.tid != other.tid


@pytest.mark.parametrize("mode", ["locked", "handed over", "own"])
def test_taking_turns_is_silent(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("shared_kernel", mode).findings


@pytest.mark.parametrize("switch", ["GPUDX_TURNS", "GPUDX_PERTURB"])
@pytest.mark.parametrize("mode", ["locked", "handed over", "own"])
def test_switches_of_the_lab_break_nothing(opencl: OpenCL, mode: str, switch: str) -> None:
    run = opencl.run("shared_kernel", mode, **{switch: "1"})
    assert run.outcome.kind == "passed" and not run.findings


def test_turns_that_cannot_be_taken_stop_nobody(opencl: OpenCL) -> None:
    """Two threads that wait for each other between argument and launch: the turn is taken over, and the record shows it."""
    run = opencl.run("shared_kernel", "mixed", GPUDX_TURNS="1")
    assert run.outcome.kind == "passed" and run.of(ID)


def test_turns_take_the_sharing_away(opencl: OpenCL) -> None:
    program = opencl.build([INCIDENT / "main.c"], name="shared-kernel-incident")
    run = opencl.record([program], GPUDX_TURNS="1")
    assert run.outcome.kind == "passed" and not run.of(ID), run.output


def test_incident(opencl: OpenCL) -> None:
    program = opencl.build([INCIDENT / "main.c"], name="shared-kernel-incident")
    finding = opencl.record([program]).only(ID)
    assert finding.site is not None and finding.site.kernel == "scale_and_shift"


def _kernel(process: World) -> int:
    return process.kernel("scale", [Arg("float*", "data", GLOBAL)])


def test_calls_that_overlap_in_time(world: Make, look: Look) -> None:
    process = world()
    buffer, kernel = process.buffer(64), _kernel(process)
    process.set_arg(kernel, 0, buffer, tid=1, begin=100_000, ticks=100)
    process.set_arg(kernel, 0, buffer, tid=2, begin=100_050, ticks=100)
    (finding,) = [f for f in look(process) if f.id == ID]
    assert finding.severity == "error"
    assert "thread 1 was still in clSetKernelArg" in finding.message


def test_launches_may_overlap(world: Make, look: Look) -> None:
    """Launching one object from two threads is allowed; only setting its arguments is not."""
    process = world()
    buffer, kernel = process.buffer(64), _kernel(process)
    process.set_arg(kernel, 0, buffer, tid=1)
    process.launch(kernel, (64,), tid=1, begin=100_000, ticks=100)
    process.launch(kernel, (64,), tid=2, begin=100_050, ticks=100)
    assert not [f for f in look(process) if f.id == ID]


def test_arguments_set_once_for_all_threads_are_silent(world: Make, look: Look) -> None:
    process = world()
    buffer = process.buffer(64)
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL), Arg("int", "n")])
    process.set_arg(kernel, 0, buffer, tid=1)
    for round_ in range(4):
        process.set_arg(kernel, 1, round_, 4, tid=2 + round_ % 2)
        process.launch(kernel, (64,), tid=2 + round_ % 2)
    assert not [f for f in look(process) if f.id == ID]
