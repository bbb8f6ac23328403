"""Fenced memory on the fake driver, whose virtual memory is real: what is not mapped cannot be touched."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from cuda_kit import WAYS, Call, Kit, Ran, decode, of
from support import forked
from support.own import PYTHONPATH
from support.typed import distance

from gpudx import casefile
from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose, fenced_runs
from gpudx.facts import derive
from gpudx.model import Case, Finding, Outcome
from gpudx.model.how import Fence

EDGES = ("high", "low")
SEGV = -signal.SIGSEGV
REFUSED = "the driver refused a part of the fence"


def run(kit: Kit, *words: str, edge: str = "high", **more: str) -> Ran:
    return kit.run([kit.program("fenced"), *words], env={"GPUDX_FENCE": edge, **more})


def calls(ran: Ran) -> list[Call]:
    return decode(ran.trace())


def counts(ran: Ran) -> Counter[str]:
    """Blocks by what became of them, memory without a fence by reason, and what the recorder counted."""
    fences = derive(ran.trace()).fences
    freed, back = (
        sum(map(bool, states)) for states in ((b.freed for b in fences.blocks), (b.given_back for b in fences.blocks))
    )
    return Counter({"fenced": len(fences.blocks), "freed": freed, "given back": back}) + fences.missed + fences.counts


def found(ran: Ran) -> list[Finding]:
    outcome = Outcome("exit" if ran.returncode else "passed", "The program ended.", ran.returncode)
    return list(detect_all(derive(ran.trace()), Run(outcome)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("edge", EDGES)
def test_a_correct_program_runs_as_before_and_is_silent(kit: Kit, way: str, edge: str) -> None:
    plain, recorded = kit.both([kit.program("fenced", way=way)])
    ran = kit.run([kit.program("fenced", way=way)], env={"GPUDX_FENCE": edge})
    assert plain.returncode == 0 and ran.seen == plain.seen == recorded.seen
    assert found(ran) == [] and not counts(recorded)
    told = counts(ran)
    assert (told["fenced"], told["freed"], told["managed memory"], told["damaged"]) == (38, 38, 1, 0) and told[
        "checks"
    ] > 38


@pytest.mark.parametrize("program", ["tour", "memory", "threads"])
def test_other_programs_run_as_before(kit: Kit, program: str) -> None:
    plain = kit.run([kit.program(program)], recorded=False)
    ran = kit.run([kit.program(program)], env={"GPUDX_FENCE": "high"})
    assert ran.seen == plain.seen


def test_addresses_lie_at_the_edge_and_are_aligned(kit: Kit) -> None:
    for edge, align in (("high", 256), ("high", 16), ("low", 256)):
        made = of(calls(run(kit, edge=edge, GPUDX_FENCE_ALIGN=str(align))), "cuMemAlloc_v2")
        assert made and all(c.words["result"] % align == 0 for c in made)
        slack = {-(c.words["result"] + c.words["size"]) % (2 << 20) for c in made}
        assert max(slack) < align if edge == "high" else all(c.words["result"] % (2 << 20) == 0 for c in made)


@pytest.mark.parametrize(
    ("words", "edge", "ends"),
    [
        (("past", "1", "1024"), "high", SEGV),
        (("past", "64", "1000"), "high", SEGV),
        (("past", "1", "1024"), "low", 0),  # in the slack
        (("past", "600000", "1024"), "low", SEGV),
        (("before",), "low", SEGV),
        (("before",), "high", 0),  # in the slack
        (("freed",), "high", SEGV),
        (("freed",), "low", SEGV),
        (("freed", "async"), "high", SEGV),
    ],
)
def test_what_lies_outside_cannot_be_touched(kit: Kit, words: tuple[str, ...], edge: str, ends: int) -> None:
    assert kit.run([kit.program("fenced"), *words], recorded=False).returncode in (0, SEGV, -signal.SIGABRT)
    assert run(kit, *words, edge=edge).returncode == ends


def test_a_tighter_alignment_meets_the_fence(kit: Kit) -> None:
    assert run(kit, "past", "1", "1000").returncode == 0
    assert run(kit, "past", "1", "1000", GPUDX_FENCE_ALIGN="16").returncode == SEGV


@pytest.mark.parametrize(
    ("words", "edge", "where"),
    [
        (("past", "1", "1000"), "high", "past the end of memory #3 (4,000 bytes)"),
        (("past", "1", "63"), "high", "past the end of memory #3 (252 bytes)"),
        (("past", "20", "1000"), "low", "past the end of memory #3 (4,000 bytes)"),
        (("before",), "high", "before the start of memory #3 (4,000 bytes)"),
    ],
)
def test_a_write_into_the_slack_is_told_with_its_launch(
    kit: Kit, words: tuple[str, ...], edge: str, where: str
) -> None:
    ran = run(kit, *words, edge=edge)
    (one,) = found(ran)
    assert one.id == "write-outside-allocation" and where in one.message
    assert distance(one) in range(3), "a byte may have the pattern's value by chance"
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("add", 2, 2)
    (told,) = diagnose([one], Outcome("passed", "The program ended."))
    assert (told.cause, told.status) == ("write-outside-allocation", "likely")


def test_a_write_into_the_slack_is_told_at_a_wait_for_the_context(kit: Kit) -> None:
    (one,) = found(run(kit, "context"))
    assert one.id == "write-outside-allocation" and one.site is not None and one.site.launch == 1


def test_a_launch_that_faults_is_told_with_what_is_fenced(kit: Kit) -> None:
    """The fake stops the kernel as a device would, and reports it at the next call."""
    ran = run(kit, "past", "1", "1024", FAKE_CUDA_CATCH="1")
    assert ran.returncode == 1
    (one,) = found(ran)
    told = [e.text for e in one.evidence if "which is fenced" in e.text]
    assert one.id == "device-error-reported" and len(told) == 3 and "argument 2 points into memory #3" in told[2]
    (said,) = diagnose([one], Outcome("exit", "The program ended.", 1))
    assert (said.cause, said.status) == ("out-of-bounds-access", "likely")


def test_a_use_after_a_free_is_told_with_the_freed_memory(kit: Kit) -> None:
    ran = run(kit, "freed", FAKE_CUDA_CATCH="1")
    told = found(ran)
    assert {f.id for f in told} == {"device-error-reported", "use-after-free"}
    assert any("whose addresses fault since" in e.text for f in told for e in f.evidence)


def test_after_a_fault_an_allocation_fails_as_before(kit: Kit) -> None:
    """The calls that make a fence belong to no context and succeed; the context's own status counts."""
    env = {"FAKE_CUDA_FAIL": "cuMemcpyHtoD_v2:1:700"}
    plain = kit.run([kit.program("fenced")], recorded=False, env=env)
    assert run(kit, **env).seen == plain.seen and plain.returncode == 1


def test_odd_requests_are_answered_by_the_driver(kit: Kit) -> None:
    ran = run(kit, "statuses")
    assert ran.stdout.splitlines() == ["nothing 1", "free 0 0", "shared 1", "ordered 1", "freed 0", "twice 1", "done"]
    assert counts(ran)["shared"] == 1
    assert "shares memory with other processes" in fenced_runs.instrument(Fence(), [derive(ran.trace())]).saw


def test_sizes_are_those_that_the_program_asked_for(kit: Kit) -> None:
    said = ["range 1 12345", "attributes 1 12345 1", "attribute 12345", "done"]
    assert run(kit, "ranges").stdout.splitlines() == said


def test_captures_are_left_alone(kit: Kit) -> None:
    ran = run(kit, "capture")
    assert ran.stdout.splitlines() == ["twice 1", "done"]
    told = counts(ran)
    assert (told["fenced"], told["made while a stream was captured"]) == (1, 2)
    assert told["freed"] == 1, "the block that was freed in a capture went later"


@pytest.mark.parametrize(
    "refused", ["cuMemCreate:2:2", "cuMemAddressReserve:1:2", "cuMemMap:3:1", "cuMemSetAccess:2:1", "cuMemAlloc_v2:1:2"]
)
def test_what_cannot_be_fenced_is_allocated_as_before(kit: Kit, refused: str) -> None:
    plain = kit.run([kit.program("fenced")], recorded=False)
    ran = run(kit, FAKE_CUDA_REFUSE=refused)
    assert ran.seen == plain.seen
    told = counts(ran)
    assert told["fenced"] + told["not enough device memory"] + told["no addresses"] + told[REFUSED] == 38
    assert (told["fenced"] == 38) == refused.startswith("cuMemAlloc_v2")


@pytest.mark.parametrize(
    ("words", "blind"), [(("parts",), "2 parts of buffers had no fence of their own"), (("past", "0"), "")]
)
def test_what_lies_inside_an_allocation_is_not_seen(kit: Kit, words: tuple[str, ...], blind: str) -> None:
    """A program that divides memory itself leaves its parts without meeting a fence: that refutes nothing."""
    assert fenced_runs.instrument(Fence(), [derive(run(kit, *words).trace())]).blind == blind


def test_freed_memory_is_kept_for_the_next_block(kit: Kit) -> None:
    """Each block has addresses of its own; what is behind them was made once, so the driver is not asked a second time."""
    ran = run(kit, "churn", "300", FAKE_CUDA_REFUSE="cuMemCreate:2:2")
    told = counts(ran)
    assert ran.returncode == 0 and (told["fenced"], told["not enough device memory"]) == (300, 0)


@pytest.mark.parametrize("edge", ["high", "red"])
def test_red_zones_where_there_are_no_mappings_and_by_choice(kit: Kit, edge: str) -> None:
    env = {} if edge == "red" else {"FAKE_CUDA_REFUSE": "cuMemGetAllocationGranularity:1:801"}
    plain = kit.run([kit.program("fenced")], recorded=False)
    ran = run(kit, edge=edge, **env)
    told = counts(ran)
    assert ran.seen == plain.seen and found(ran) == []
    assert (told["fenced"], told["given back"], told["damaged"]) == (37, 37, 0) and told["checks"] >= 37
    assert told["in the order of a stream, where only red zones are"] == told["managed memory"] == 1
    tool = fenced_runs.instrument(Fence(edge), [derive(ran.trace())])
    assert tool.state == "live" and "Fenced 37 of 39 allocations; 37 of them by a red zone after it" in tool.saw


@pytest.mark.parametrize("count", ["1000", "1024"])
def test_a_write_into_a_red_zone_is_told_with_its_launch(kit: Kit, count: str) -> None:
    ran = run(kit, "past", "1", count, edge="red", GPUDX_SERIALISE="1")
    (one,) = found(ran)
    assert one.id == "write-outside-allocation" and "past the end of memory #3" in one.message
    assert distance(one) in range(3), "a byte may have the pattern's value by chance"
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("add", 2, 2)
    assert "a known pattern right after it" in one.evidence[0].text


@pytest.mark.parametrize("words", [("statuses",), ("ranges",), ("capture",), ("threads",), ("fork",), ("many", "300")])
def test_red_zones_are_not_seen_by_the_program(kit: Kit, words: tuple[str, ...]) -> None:
    plain = kit.run([kit.program("fenced"), *words], recorded=False)
    ran = run(kit, *words, edge="red")
    said = ["range 1 12345", "attributes 1 12345 1", "attribute 12345", "done"]
    assert ran.stdout.splitlines() == said if words == ("ranges",) else ran.seen == plain.seen
    assert not any(derive(trace).fences.damages for trace in ran.traces())


def test_a_context_takes_its_red_zones_along(kit: Kit) -> None:
    ran = run(kit, "many", "3", edge="red")
    assert counts(ran)["given back"] == 3 and not of(calls(ran), "cuMemFree_v2")


def test_small_blocks_leave_memory_for_large_ones(kit: Kit) -> None:
    told = counts(run(kit, "many", "300"))
    assert (told["fenced"], told["not enough device memory"]) == (
        128,
        172,
    )  # a quarter of the fake's 1 GB in granules of 2 MB


def test_threads(kit: Kit) -> None:
    ran = run(kit, "threads")
    assert ran.seen == (0, "done\n", "") and counts(ran)["fenced"] == 1600 and found(ran) == []


def test_addresses_are_given_back_in_the_end(kit: Kit) -> None:
    told = counts(run(kit, "churn", "17000"))
    assert told["given back"] == 17000 - (1 << 14) and told["fenced"] == 17000


def test_a_forked_child_knows_no_blocks(kit: Kit) -> None:
    plain = kit.run([kit.program("fenced"), "fork"], recorded=False)
    assert run(kit, "fork").seen == plain.seen and plain.stdout == "child 0, freed 0\ndone\n"


def test_the_instrument_says_what_was_fenced(kit: Kit) -> None:
    tool = fenced_runs.instrument(Fence(), [derive(run(kit).trace())])
    assert tool.state == "live" and not tool.failed
    assert "Fenced 38 of 39 allocations (high edge, multiples of 256); without a fence: 1 (managed memory)." in tool.saw
    assert fenced_runs.instrument(Fence(), []).failed


def test_serialised_runs_look_after_each_launch(kit: Kit) -> None:
    (one,) = found(run(kit, "past", "1", "1000", GPUDX_SERIALISE="1"))
    assert one.attribution in ("this", "probable")


# ---- as a user runs it ----


def gpudx(kit: Kit, case: Path, *words: str | Path) -> tuple[int, Case]:
    env = os.environ | {
        "PYTHONPATH": PYTHONPATH,
        "GPUDX_LIB": str(kit.recorder),
        "LD_LIBRARY_PATH": str(kit.driver),
    }
    done = forked.gpudx("run", "--case", case, "--error-exitcode", "9", *words, env=env, timeout=60)
    return done.returncode, casefile.read(case)


def test_a_case_says_what_fences_saw(kit: Kit, tmp_path: Path) -> None:
    code, case = gpudx(kit, tmp_path / "case", "--fence", "--", kit.program("fenced"), "past", "1", "1000")
    tool = case.instruments[1]
    assert (code, tool.name, tool.state) == (9, "fence", "live") and tool.saw.startswith("Fenced 3 of 3 allocations")
    assert (case.diagnosis[0].cause, case.diagnosis[0].status) == ("write-outside-allocation", "likely")
    assert case.observations[0].experiment == "fenced" and "up to 255 bytes" in case.not_checked[1]


def test_a_correct_fenced_run_is_clean(kit: Kit, tmp_path: Path) -> None:
    code, case = gpudx(kit, tmp_path / "case", "--fence=low", "--", kit.program("fenced"))
    assert code == 0 and case.findings == () and case.instruments[1].state == "live"


def test_a_run_without_fences_is_not_clean(kit: Kit, tmp_path: Path) -> None:
    code, case = gpudx(kit, tmp_path / "case", "--fence", "--", "true")
    assert code == 9 and (case.instruments[1].name, case.instruments[1].state) == ("fence", "not live")
