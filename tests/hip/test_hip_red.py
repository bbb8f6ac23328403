"""Red zones behind HIP memory. Programs are built by the real hipcc; execution is simulated, and memory there comes in pages, as on
a device: an overrun of some bytes faults nowhere. These tests say nothing about AMD hardware."""

from __future__ import annotations

from collections import Counter

import pytest
from cuda_kit import Ran
from hip_kit import Kit
from support.typed import size

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose, fenced_runs
from gpudx.facts import derive
from gpudx.model import Finding, Outcome
from gpudx.model.how import Fence

WAITS = ("device", "stream", "event", "copy", "free")
EDGES = ("high", "low", "red")


def run(kit: Kit, *words: str, edge: str = "red", **more: str) -> Ran:
    return kit.run_hip(kit.hip_program("red"), *words, GPUDX_FENCE=edge, **more)


def found(ran: Ran) -> list[Finding]:
    outcome = Outcome("exit" if ran.returncode else "passed", "The program ended.", ran.returncode)
    return list(detect_all(derive(ran.trace()), Run(outcome)))


def counts(ran: Ran) -> Counter[str]:
    fences = derive(ran.trace()).fences
    return Counter({"zones": len(fences.blocks)}) + fences.missed + fences.counts


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("edge", EDGES)
def test_a_write_past_the_end_is_seen_at_each_kind_of_wait(kit: Kit, wait: str, edge: str) -> None:
    """One of three launches was given the memory: it is named, although nobody looked in between."""
    ran = run(kit, wait, "1", edge=edge)
    (one,) = found(ran)
    assert ran.returncode == 0 and one.id == "write-outside-allocation" and one.severity == "error"
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("store", 2, 0)
    assert size(one) == 400


@pytest.mark.parametrize("wait", WAITS)
def test_the_correct_twin_is_silent(kit: Kit, wait: str) -> None:
    ran = run(kit, wait, "0")
    assert ran.returncode == 0 and found(ran) == []
    told = counts(ran)
    assert told["zones"] == 2 and told["checks"] >= 2 and not told["damaged"]


def test_serialised_every_launch_is_looked_at(kit: Kit) -> None:
    """Two launches of the same memory: only with a look in between is the one that wrote told from the one after it."""
    (unclear,) = found(run(kit, "free", "28", "same"))
    assert unclear.attribution == "unknown"
    ran = run(kit, "free", "28", "same", GPUDX_SERIALISE="1")
    (one,) = found(ran)
    assert one.site is not None and one.site.launch == 2 and one.attribution == "this"
    (best, *_) = diagnose([one], Outcome("passed", "The program ended.", 0))
    assert (best.cause, best.status) == ("write-outside-allocation", "confirmed")
    assert counts(ran)["checks"] >= 3


@pytest.mark.parametrize("edge", EDGES)
def test_the_program_sees_its_memory_as_it_was(kit: Kit, edge: str) -> None:
    """Sizes, refused copies and fills, statuses and the last error."""
    plain = kit.run_hip(kit.hip_program("red"), "around", record=False)
    ran = run(kit, "around", edge=edge)
    assert "more 1: 1 1 1 1 1 1 1" in plain.stdout and "sizes 0 1000 1000 1000 1 1" in plain.stdout
    assert ran.seen == plain.seen and plain.returncode == 0
    told = counts(ran)
    assert told["zones"] == 6 and told["in the order of a stream"] == 1


@pytest.mark.parametrize("serialise", ["", "1"])
def test_other_programs_run_as_before(kit: Kit, serialise: str) -> None:
    plain = kit.run_hip(kit.hip_program("tour"), record=False, GPUDX_HIP_SIM_DEVICES="2")
    ran = kit.run_hip(kit.hip_program("tour"), GPUDX_HIP_SIM_DEVICES="2", GPUDX_FENCE="high", GPUDX_SERIALISE=serialise)
    assert ran.seen == plain.seen and ran.returncode == 0
    told = counts(ran)
    assert (told["managed memory"], told["three-dimensional memory"], told["memory with flags"]) == (1, 1, 1)
    assert told["zones"] > 3 and not told["damaged"]


def test_what_the_instrument_says(kit: Kit) -> None:
    said = fenced_runs.instrument(
        Fence("high"), [derive(run(kit, "device", "0", edge="high", GPUDX_HIP_SIM_MAPPINGS="0").trace())]
    )
    assert said.state == "live" and "2 of them by a red zone" in said.saw and "sees no reads" in said.blind


def test_nothing_is_done_where_nothing_was_asked_for(kit: Kit) -> None:
    assert not counts(kit.run_hip(kit.hip_program("red"), "device", "1"))
