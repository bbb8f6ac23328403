"""fence-hit and write-outside-allocation, on PoCL: what is outside of a buffer faults, and the fault is decoded."""

from __future__ import annotations

import sys

import pytest
from support.opencl import PROGRAMS, OpenCL, Recorded
from support.typed import access, label, size
from test_endings import OUTSIDE as CRASHED

from gpudx.diagnose import diagnose
from gpudx.diagnose.fenced_runs import instrument
from gpudx.model import Finding
from gpudx.model.how import Fence

HIT, WROTE = "fence-hit", "write-outside-allocation"


def run(opencl: OpenCL, mode: str, side: str = "high", **environment: str) -> Recorded:
    return opencl.run("fenced", mode, GPUDX_FENCE=side, **environment)


def hit(recorded: Recorded) -> Finding:
    assert recorded.outcome.signal == "SIGSEGV", recorded.output
    return recorded.only(HIT)


@pytest.mark.parametrize(
    ("mode", "side", "says"),
    [
        (
            "read",
            "high",
            "Kernel read_at (launch 1, call {}) read the first byte past the end of buffer #1 (argument 1",
        ),
        ("write", "high", "Kernel write_at (launch 1, call {}) wrote the first byte past the end of buffer #1"),
        ("page", "high", "wrote to memory 4,096 bytes past the end of buffer #1 (argument 1, 4,096 bytes)"),
        ("below", "low", "wrote to memory 4 bytes before the start of buffer #1 (argument 1, 4,096 bytes)"),
        ("sub-buffer", "high", "wrote the first byte past the end of buffer #1 (argument 1, 4,096 bytes)"),
        pytest.param(
            "released",
            "high",
            "Kernel follow (launch 2, call {}) wrote byte 0 of buffer #1 (4,096 bytes), after it was",
            marks=pytest.mark.pocl("Intel's driver gives its generated code no names: it is not known to be the kernel's"),
        ),
    ],
)
@pytest.mark.parametrize("device", ["", "basic"])
def test_access_of_a_kernel(opencl: OpenCL, mode: str, side: str, says: str, device: str) -> None:
    """On its default device PoCL runs kernels in threads of its own; `basic` runs them inside the program's calls."""
    recorded = run(opencl, mode, side, **({"POCL_DEVICES": device} if device else {}))
    finding = hit(recorded)
    assert finding.site is not None and says.format(finding.site.number) in finding.message
    assert label(finding) == "buffer #1" and size(finding) == 4096
    assert finding.attribution == "this" and access(finding).by == "kernel"
    cause = "use-after-free" if mode == "released" else "out-of-bounds-access"
    first = diagnose(recorded.findings, recorded.outcome)[0]
    assert (first.cause, first.status) == (cause, "confirmed")
    assert first.guilty is not None and first.guilty.kernel == finding.site.kernel


def test_release_is_named(opencl: OpenCL) -> None:
    recorded = run(opencl, "released")
    number = int(hit(recorded).message.rpartition("(call ")[2].rstrip(")."))
    assert recorded.facts.trace.info(number - 1).name == "clReleaseMemObject"


def test_sub_buffer_is_named(opencl: OpenCL) -> None:
    assert any("is subbuffer #1, a part of buffer #1" in e.text for e in hit(run(opencl, "sub-buffer")).evidence)


def test_of_two_launches_none_is_accused(opencl: OpenCL) -> None:
    recorded = run(opencl, "two")
    finding = hit(recorded)
    assert finding.site is None and finding.attribution != "this"
    if len(finding.others) == 2:  # unless the first was fast enough to crash before the second
        assert "One of 2 launches of kernel write_at" in finding.message
    assert diagnose(recorded.findings, recorded.outcome)[0].status == "likely"


@pytest.mark.parametrize(("mode", "says"), [("host", "touch_mapped at fenced.c"), ("stale", "host_thread at fenced.c")])
def test_access_of_the_program_itself(opencl: OpenCL, mode: str, says: str) -> None:
    recorded = run(opencl, mode)
    finding = hit(recorded)
    assert finding.message.startswith("The program itself wrote ") and says in finding.message
    assert finding.site is None and access(finding).by == "host"
    first = diagnose(recorded.findings, recorded.outcome)[0]
    assert (first.cause, first.status) == ("host-access-outside-buffer", "confirmed")


@pytest.mark.parametrize(
    ("mode", "offset", "says"), [("slack", 1003, "2 bytes past the end"), ("under", -2, "2 bytes before")]
)
def test_write_between_block_and_fence(opencl: OpenCL, mode: str, offset: int, says: str) -> None:
    recorded = run(opencl, mode)
    finding = recorded.only(WROTE)
    assert recorded.outcome.kind == "passed" and not recorded.of(HIT)
    assert (
        f"Kernel write_byte (launch 1, call {finding.site.number if finding.site else 0}) wrote 1 byte"
        in finding.message
    )
    assert f"{says}" in finding.message and access(finding).offset == offset
    (damage,) = recorded.facts.fences.damages
    waited = [p for p in range(damage.position) if recorded.facts.trace.info(p).name == "clFinish"]
    assert waited, "it is noticed when the program has waited"
    assert diagnose(recorded.findings, recorded.outcome)[0].status == "confirmed"


@pytest.mark.parametrize("side", ["high", "low"])
@pytest.mark.parametrize("mode", ["right", "threads"])
def test_correct_program_is_silent(opencl: OpenCL, mode: str, side: str) -> None:
    """Content, mapping, flags and pointers asked back, refusals: all as without a fence."""
    recorded = run(opencl, mode, side)
    assert recorded.outcome.kind == "passed", recorded.output
    assert not recorded.findings
    fences, times = recorded.facts.fences, 4 if mode == "threads" else 1
    assert len(fences.blocks) == 3 + 80 * times and {b.edge for b in fences.blocks} == {side}
    assert sum(b.freed is not None for b in fences.blocks) >= 60 * times
    assert fences.missed == {"memory of the program's own (CL_MEM_USE_HOST_PTR)": times}
    for block in fences.blocks:
        assert block.begin < block.address and block.address + block.size < block.end
        assert block.address % 128 == 0


def test_without_a_fence_nothing_changes(opencl: OpenCL) -> None:
    recorded = opencl.run("fenced", "right")
    assert recorded.outcome.kind == "passed" and not recorded.facts.fences.blocks and not recorded.facts.fences.missed
    state = instrument(Fence(), [recorded.facts])
    assert state.failed and "No memory was fenced" in state.saw


def test_smaller_alignment_leaves_less_room(opencl: OpenCL) -> None:
    recorded = run(opencl, "slack", GPUDX_FENCE_ALIGN="1")
    assert "wrote to memory 2 bytes past the end of buffer #2 (argument 0, 1,001 bytes)" in hit(recorded).message


def test_scarce_addresses(opencl: OpenCL) -> None:
    """Fences take a part of what the program may map; what finds no room is made without one, and counted."""
    program = opencl.build([PROGRAMS / "many_buffers.c"])
    command = ["sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh", program]
    recorded = opencl.record(command, GPUDX_FENCE="high")
    assert recorded.outcome.kind == "passed", recorded.output
    facts = recorded.facts
    assert facts.fences.blocks and facts.fences.missed["no room for a fence"]
    assert len(facts.fences.blocks) + facts.fences.missed.total() == 400
    assert "without a fence: " in instrument(Fence(), [facts]).saw


def test_quarantine_has_a_bound(opencl: OpenCL) -> None:
    """After 4,096 freed blocks the oldest is given back."""
    recorded = opencl.record([opencl.build([PROGRAMS / "many_buffers.c"]), "one by one"], GPUDX_FENCE="high")
    assert recorded.outcome.kind == "passed", recorded.output
    note = recorded.facts.trace.schema.by_name("note_fence_block")
    assert note is not None
    states = recorded.facts.trace.field(note, "state", recorded.facts.trace.select(note)).tolist()
    assert states.count(1) == states.count(2) == 5000 and 5000 - 4096 <= states.count(3) <= 5000 - 4094


@pytest.mark.parametrize("mode", ["right", "past"])
def test_pyopencl(opencl: OpenCL, mode: str) -> None:
    recorded = opencl.record([sys.executable, PROGRAMS / "pyopencl_fenced.py", mode], GPUDX_FENCE="high")
    if mode == "right":
        assert recorded.outcome.kind == "passed", recorded.output
        assert not recorded.errors and len(recorded.facts.fences.blocks) >= 4
    else:
        says = "read the first byte past the end of buffer #1 (argument 0, 4,096 bytes)"
        assert says in hit(recorded).message and recorded.of(CRASHED)
