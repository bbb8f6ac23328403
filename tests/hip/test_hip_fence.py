"""HIP memory between fences, where the device can map memory. Programs are built by the real hipcc; execution is simulated, with the
version and structures of HIP 6 (tests/hip/sim/api_mapping.c). These tests say nothing about AMD hardware."""

from __future__ import annotations

import signal
from collections import Counter

import pytest
from cuda_kit import Ran
from hip_kit import Kit
from support.typed import interval

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import fenced_runs
from gpudx.facts import derive
from gpudx.model import Finding, Outcome
from gpudx.model.how import Fence

MAPPINGS = {"GPUDX_HIP_SIM_MAPPINGS": "1"}
SLACK = (512 - 400) // 4  # values between the end of 400 bytes and the next multiple of 256


def run(kit: Kit, *words: str, edge: str = "high", program: str = "red", **more: str) -> Ran:
    return kit.run_hip(kit.hip_program(program), *words, GPUDX_FENCE=edge, **{**MAPPINGS, **more})


def found(ran: Ran) -> list[Finding]:
    outcome = Outcome("exit" if ran.returncode else "passed", "The program ended.", ran.returncode)
    return [f for f in detect_all(derive(ran.trace()), Run(outcome)) if f.severity == "error"]


def counts(ran: Ran) -> Counter[str]:
    fences = derive(ran.trace()).fences
    return Counter(block.edge for block in fences.blocks) + fences.missed + fences.counts


@pytest.mark.parametrize(("edge", "more"), [("high", SLACK + 1), ("low", -1)])
def test_an_access_in_the_fence_is_a_fault(kit: Kit, edge: str, more: int) -> None:
    """Without fences the same program ends well: memory comes in pages."""
    assert kit.run_hip(kit.hip_program("red"), "device", str(SLACK + 1), **MAPPINGS).returncode == 0
    ran = run(kit, "device", str(more), edge=edge)
    (one,) = [f for f in found(ran) if f.id == "device-error-reported"]
    assert ran.returncode and "accessed an illegal address" in one.message
    assert {site.kernel for site in (one.site, *one.others) if site} - {None} == {"store"}


def test_serialised_the_launch_is_named(kit: Kit) -> None:
    (one,) = [
        f for f in found(run(kit, "device", str(SLACK + 1), GPUDX_SERIALISE="1")) if f.id == "device-error-reported"
    ]
    named = {(site.kernel, site.launch) for site in (one.site, *one.others) if site and site.launch}
    assert named == {("store", 2)} and interval(one).launches == 1  # whether the launch or our wait is told of it


def test_the_printed_page_tells_the_block(kit: Kit) -> None:
    ran = run(kit, "device", str(SLACK + 1), GPUDX_HIP_SIM_FAULT="abort")
    (one,) = [f for f in found(ran) if f.id == "device-fault-printed"]
    assert ran.returncode == -signal.SIGABRT and "past the end of memory #1 (400 bytes)" in one.message
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("store", 2, 0)


def test_a_use_after_the_free_is_a_fault(kit: Kit) -> None:
    ran = run(kit, "after", "0", GPUDX_HIP_SIM_FAULT="abort")
    (one,) = [f for f in found(ran) if f.id == "device-fault-printed"]
    assert "which had been freed" in one.message and one.causes == ("use-after-free",)


@pytest.mark.parametrize(("edge", "more"), [("high", 1), ("high", -1), ("low", 1)])
def test_a_write_into_the_slack_is_seen(kit: Kit, edge: str, more: int) -> None:
    ran = run(kit, "device", str(more), edge=edge)
    (one,) = found(ran)
    assert ran.returncode == 0 and one.id == "write-outside-allocation"
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("store", 2, 0)


@pytest.mark.parametrize("edge", ["high", "low"])
def test_the_correct_twin_is_silent(kit: Kit, edge: str) -> None:
    ran = run(kit, "device", "0", edge=edge)
    told = counts(ran)
    assert ran.returncode == 0 and not found(ran)
    assert told[edge] == 2 and told["checks"] >= 2 and not told["damaged"] and not told["red"]


@pytest.mark.parametrize("edge", ["high", "low"])
@pytest.mark.parametrize(("program", "words"), [("red", ("around",)), ("tour", ())])
def test_the_program_sees_its_memory_as_it_was(kit: Kit, edge: str, program: str, words: tuple[str, ...]) -> None:
    """Sizes, refused copies and fills, statuses, the last error, and the other device."""
    two = {**MAPPINGS, "GPUDX_HIP_SIM_DEVICES": "2"}
    plain = kit.run_hip(kit.hip_program(program), *words, record=False, **two)
    ran = run(kit, *words, edge=edge, program=program, **two)
    told = counts(ran)
    assert ran.seen == plain.seen and ran.returncode == plain.returncode == 0
    assert told[edge] >= 4 and not told["damaged"] and not told["red"]


def test_memory_of_a_peer_is_in_reach_where_that_was_allowed(kit: Kit) -> None:
    two = {"GPUDX_HIP_SIM_DEVICES": "2"}
    for words, good in ((("peer", "early"), True), (("peer", "late"), True), (("peer", "never"), False)):
        assert (run(kit, *words, program="peers", **two).returncode == 0) is good, words


def test_what_was_used_is_said(kit: Kit) -> None:
    """Mappings where the device has them, red zones where it has not or by choice."""
    mapped = fenced_runs.instrument(Fence("high"), [derive(run(kit, "device", "0").trace())])
    assert "Fenced 2 of 2 allocations (high edge, multiples of 256)" in mapped.saw and "red zone" not in mapped.saw
    for ran in (run(kit, "device", "0", GPUDX_HIP_SIM_MAPPINGS="0"), run(kit, "device", "0", edge="red")):
        assert "2 of them by a red zone" in fenced_runs.instrument(Fence("high"), [derive(ran.trace())]).saw
