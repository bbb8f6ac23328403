"""Waits of the recorder at some launches only. The driver is a fake (fake/): this says where waits stand, never that a GPU
did anything."""

from __future__ import annotations

import pytest
from cuda_kit import Kit, decode, of

LAUNCHES = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel")
GRAPHS = ("cuGraphLaunch",)  # waited for where all launches are


def neighbours(kit: Kit, asked: str, way: int) -> tuple[list[str], list[str]]:
    """The kernels whose launches stand beside waits of ours, and all that were launched and were no capture, in order."""
    ran = kit.run([kit.program("tour", way="BY_PROC_ADDRESS")], env={"GPUDX_SERIALISE": asked})
    plain = kit.run([kit.program("tour", way="BY_PROC_ADDRESS")])
    assert ran.seen == plain.seen, "the program does not notice"
    trace = ran.trace()
    calls, caller = decode(trace), trace.column("caller")
    names = {c.words["kernel"]: trace.text(c.position) for c in of(calls, "note_kernel")}
    timed = [c for c in calls if not c.name.startswith("note_")]
    own = [at for at, c in enumerate(timed) if c.name == "cuStreamSynchronize" and caller[c.position] == 0]
    beside = [timed[at + way] for at in own]
    assert all(c.name in (*LAUNCHES, *GRAPHS) for c in beside)
    assert asked == "1" or not of(beside, *GRAPHS)
    beside = of(beside, *LAUNCHES)
    launched = [c for c in of(calls, *LAUNCHES) if c.status == 0]
    return [names[c.words["kernel"]] for c in beside], [names[c.words["kernel"]] for c in launched]


@pytest.mark.parametrize(("side", "way"), [("after", -1), ("before", 1)])
@pytest.mark.parametrize("which", ["add", "?dd", "*d", "a*d*"])
def test_only_at_one_kernel(kit: Kit, side: str, way: int, which: str) -> None:
    beside, launched = neighbours(kit, f"{side}:{which}", way)
    assert set(beside) >= {"add"} and "mixed" in launched
    assert "mixed" in beside if which == "*d" else set(beside) == {"add"}


@pytest.mark.parametrize(("side", "way"), [("after", -1), ("before", 1)])
def test_only_at_one_launch(kit: Kit, side: str, way: int) -> None:
    beside, launched = neighbours(kit, f"{side}:2", way)
    assert beside == launched[1:2]


@pytest.mark.parametrize("asked", ["", "0", "after:", "before:nothing", "after:ad", "after:addd", "after:0", "never"])
def test_nowhere(kit: Kit, asked: str) -> None:
    assert neighbours(kit, asked, -1)[0] == []


def test_everywhere(kit: Kit) -> None:
    beside, launched = neighbours(kit, "1", -1)
    assert len(set(beside)) > 2 and len(beside) <= len(launched)
