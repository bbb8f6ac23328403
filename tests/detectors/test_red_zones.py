"""Red zones behind OpenCL buffers, waits behind launches, and fresh memory with a pattern, on PoCL.

PoCL's devices are CPUs, where fences are possible: red zones are asked for. Other kinds of devices were not tried."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.opencl import PROGRAMS, OpenCL, Recorded
from support.typed import label
from test_correct_programs import INCIDENTS

from gpudx.diagnose import diagnose, fenced_runs, left_undone, poisoned_runs
from gpudx.model import Finding
from gpudx.model.how import Fence

WROTE, UNREAD, BACK = "write-outside-allocation", "read-before-write", "unwritten-memory-read-back"
RED = {"GPUDX_FENCE": "red"}
CRASHES = pytest.mark.pocl("Intel's driver crashes where PoCL refuses a range, also without gpudx")
SERIALISED = {"GPUDX_SERIALISE": "1"}
EVERY_WAY = {
    "red": RED,
    "serialised": SERIALISED,
    "poisoned": {"GPUDX_POISON": "nan"},
    "fenced, poisoned": {"GPUDX_FENCE": "high", "GPUDX_POISON": "cb"},
    "all": {**RED, **SERIALISED, "GPUDX_POISON": "cb"},
}
every_way = pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)


def wrote(recorded: Recorded) -> Finding:
    assert recorded.outcome.kind == "passed", recorded.output
    return recorded.only(WROTE)


# ---- red zones ----


@pytest.mark.parametrize("device", ["", "basic"])
@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("write", "wrote 4 bytes, right past the end of buffer #1 (argument 1, 4,096 bytes)."),
        ("slack", "wrote 1 byte, 2 bytes past the end of buffer #2 (argument 0, 1,001 bytes)."),
        ("sub-buffer", "wrote 4 bytes, right past the end of buffer #1 (argument 1, 4,096 bytes)."),
    ],
)
def test_write_past_the_end(opencl: OpenCL, mode: str, says: str, device: str) -> None:
    recorded = opencl.run("fenced", mode, **RED, **({"POCL_DEVICES": device} if device else {}))
    finding = wrote(recorded)
    assert finding.message.startswith("Kernel write_") and says in finding.message
    assert "the recorder put a known pattern right after it" in finding.evidence[0].text
    first = diagnose(recorded.findings, recorded.outcome)[0]
    assert (first.cause, first.status) == (WROTE, "confirmed")


def test_of_two_launches_the_one_is_named_where_each_is_waited_for(opencl: OpenCL) -> None:
    assert wrote(opencl.run("fenced", "two", **RED)).site is None
    one = wrote(opencl.run("fenced", "two", **RED, **SERIALISED))
    assert one.site is not None and (one.site.kernel, one.site.launch) == ("write_at", 2)


@pytest.mark.parametrize("mode", ["read", "page", "under", "released"])
def test_what_a_red_zone_does_not_see(opencl: OpenCL, mode: str) -> None:
    """Reads, what lies beyond the zone or before the buffer: no fault, and no finding that would be a guess."""
    recorded = opencl.run("fenced", mode, **RED)
    assert not recorded.of(WROTE) and not recorded.of("fence-hit")


@pytest.mark.parametrize("mode", ["right", "threads"])
@every_way
def test_correct_program_is_silent(opencl: OpenCL, mode: str, way: dict[str, str]) -> None:
    recorded = opencl.run("fenced", mode, **way)
    assert recorded.outcome.kind == "passed", recorded.output
    assert not recorded.errors and not recorded.of(BACK)
    if way.get("GPUDX_FENCE") == "red":
        fences, times = recorded.facts.fences, 4 if mode == "threads" else 1
        assert len(fences.blocks) == 3 + 80 * times and {b.edge for b in fences.blocks} == {"red"}
        assert sum(b.given_back for b in fences.blocks) == 80 * times and fences.counts["checks"]
        assert fences.missed == {"memory of the program's own (CL_MEM_USE_HOST_PTR)": times}
        assert all(b.begin == b.end for b in fences.blocks), "no address is taken for one of theirs"


def said(ran: Recorded) -> list[str]:
    """Its lines, without the times that one prints; threads print in any order."""
    return sorted(re.sub(r" \(\d+ ms\)", "", ran.output).splitlines())


@pytest.fixture(scope="module")
def twins(opencl: OpenCL) -> list[tuple[Path, list[str]]]:
    """The incidents without their faults, and what each says without an instrument."""
    built = [opencl.short_twin(one) for one in INCIDENTS]
    return [(program, said(opencl.record([program]))) for program in built]


@every_way
def test_other_correct_programs_run_as_before(
    opencl: OpenCL, twins: list[tuple[Path, list[str]]], way: dict[str, str]
) -> None:
    for program, plain in twins:
        recorded = opencl.record([program], **way)
        assert recorded.outcome.kind == "passed" and said(recorded) == plain, recorded.output
        assert not recorded.errors
    recorded = opencl.record([sys.executable, PROGRAMS / "pyopencl_queues.py"], **way)
    assert recorded.output.rstrip().endswith("right") and not recorded.errors, recorded.output


@pytest.mark.parametrize("mode", [pytest.param("refused", marks=CRASHES), "lives", "order"])
@every_way
def test_the_program_is_told_the_same(opencl: OpenCL, mode: str, way: dict[str, str]) -> None:
    """Sizes, flags, references and their end; ranges that the driver refuses; work that waits for the program."""
    plain, recorded = opencl.run("edges", mode), opencl.run("edges", mode, **way)
    assert recorded.output == plain.output and plain.output and recorded.outcome.kind == "passed"
    assert recorded.outcome.duration_s < 10 + 5 * plain.outcome.duration_s, "something was waited for in vain"


def test_the_instrument_says_what_was_done(opencl: OpenCL) -> None:
    facts = opencl.run("fenced", "right", **RED).facts
    tool = fenced_runs.instrument(Fence("red"), [facts])
    assert tool.state == "live" and tool.saw.startswith(
        "Fenced 83 of 84 allocations; 83 of them by a red zone after it; without"
    )
    assert any("With a red zone: reads" in text for text in fenced_runs.not_checked(Fence("red"), [facts]))


# ---- waits behind launches ----


def test_waits_are_recorded_like_any_other(opencl: OpenCL) -> None:
    plain, waited = (opencl.run("fenced", "right", **env).facts.trace for env in ({}, SERIALISED))
    finish = plain.schema.by_name("clFinish")
    assert finish is not None
    launches = len(waited.select(waited.schema.doing("launch")))
    assert len(waited.select(finish)) == len(plain.select(finish)) + launches


def test_what_was_not_waited_for_is_said(opencl: OpenCL) -> None:
    told = left_undone.not_checked([opencl.run("edges", "order", **SERIALISED).facts])
    assert sorted(told) == [
        "At least 1 launch under --serialise had no wait after them: a user event was open.",
        "At least 1 launch under --serialise had no wait after them: made in a callback.",
    ]


# ---- poison ----


@pytest.mark.parametrize("fence", ["", "high", "red"])
@pytest.mark.parametrize(("pattern", "word"), [("cb", "0xcbcbcbcb"), ("nan", "0x7fff7fff")])
def test_what_nobody_wrote_comes_back(opencl: OpenCL, pattern: str, word: str, fence: str) -> None:
    """The launch that reads it is named by its declaration, and the pattern turns up in what it wrote."""
    env = {"GPUDX_POISON": pattern, **({"GPUDX_FENCE": fence} if fence else {})}
    recorded = opencl.run("unwritten", "argument", **env)
    early, back = recorded.only(UNREAD), recorded.only(BACK)
    assert label(early) == "buffer #1" and label(back) == "buffer #2"
    texts = [e.text for e in early.evidence]
    assert f"the recorder had filled it with {word}, so that is what was read" in texts
    assert "512 words of the pattern came back from buffer #2, which the same launch was passed" in texts
    assert "read back 512 words of buffer #2 that hold the pattern of fresh memory" in back.message
    assert "launch 1 of kernel copy was passed buffer #2" in back.evidence[-1].text
    assert not recorded.errors and not diagnose(recorded.findings, recorded.outcome), "it passed, and may not care"


@pytest.mark.parametrize("mode", ["fill", "write", "host", "map", "launch"])
def test_what_was_written_is_silent(opencl: OpenCL, mode: str) -> None:
    """ "map" maps a buffer and writes nothing into it: the record cannot know, the pattern does."""
    recorded = opencl.run("unwritten", mode, GPUDX_POISON="cb")
    assert len(recorded.of(BACK)) == (mode == "map") and not recorded.of(UNREAD)
    assert not recorded.errors and recorded.facts.poison.count >= 2


def test_a_run_that_fails_with_the_pattern(opencl: OpenCL) -> None:
    """It passes without: large memory of PoCL's is zero at first. With the pattern it fails, in every run."""
    assert opencl.run("edges", "unwritten").outcome.kind == "passed"
    recorded = opencl.run("edges", "unwritten", GPUDX_POISON="nan")
    assert recorded.outcome.kind == "exit" and "nan is not 0" in recorded.output
    told = diagnose(recorded.findings, recorded.outcome)[0]
    assert (told.cause, told.status) == (
        UNREAD,
        "likely",
    ) and "it is not shown that it failed because of them" in told.reason


@CRASHES
def test_what_was_not_filled_is_said(opencl: OpenCL) -> None:
    facts = opencl.run("edges", "refused", GPUDX_POISON="cb").facts
    assert facts.poison.missed == Counter({"an image": 2})
    tool = poisoned_runs.instrument("cb", [facts])
    assert (
        tool.state == "live"
        and "Filled 31 of 33 fresh allocations with the pattern cb; not filled: 2 (an image)." in tool.saw
    )


def test_shared_virtual_memory_is_filled(opencl: OpenCL) -> None:
    recorded = opencl.run("edges", "svm", GPUDX_POISON="cb")
    assert recorded.output.splitlines() in (["coarse 1024", "fine 1024"], ["coarse 1024"]), recorded.output
    assert recorded.facts.poison.count == len(recorded.output.splitlines()) and not recorded.facts.poison.missed
