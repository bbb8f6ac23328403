"""Fresh memory with a pattern in it, on the fake driver: that the right calls are made, never that a GPU did anything."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from cuda_kit import WAYS, Kit, Ran, decode, of
from support import forked
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.detectors import Run, detect_all
from gpudx.diagnose import poisoned_runs
from gpudx.facts import Facts, derive
from gpudx.model import Finding, Outcome

BACK = "unwritten-memory-read-back"


def run(kit: Kit, *words: str, pattern: str = "cb", way: str = "BY_DLSYM", **more: str) -> Ran:
    return kit.run([kit.program("fresh", way=way), *words], env={"GPUDX_POISON": pattern, **more})


def facts(ran: Ran) -> Facts:
    return derive(ran.trace())


def found(ran: Ran) -> list[Finding]:
    return list(detect_all(facts(ran), Run(Outcome("passed", "The program ended."))))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pattern", ["cb", "nan"])
@pytest.mark.parametrize("fence", ["", "high", "low", "red"])
def test_every_family_is_filled(kit: Kit, way: str, pattern: str, fence: str) -> None:
    ran = run(kit, pattern, pattern=pattern, way=way, **({"GPUDX_FENCE": fence} if fence else {}))
    shown = [line.split() for line in ran.stderr.splitlines()]
    assert ran.returncode == 0 and len(shown) == 6 and all(words[1] == words[3] for words in shown), ran.stderr
    poison = facts(ran).poison
    assert poison.count == 5 and not poison.missed and len(poison.filled) == 5


def test_the_program_is_not_told_of_the_fill(kit: Kit) -> None:
    """No fill is recorded as a call of the program's, and the program runs as before."""
    plain, ran = kit.run([kit.program("fresh"), "written"], recorded=False), run(kit, "written")
    assert ran.seen == plain.seen and found(ran) == []
    assert not of(decode(ran.trace()), "cuMemsetD16Async", "cuMemsetD8Async", "cuStreamCreate")[1:]


@pytest.mark.parametrize("program", ["fenced", "tour", "memory", "threads"])
@pytest.mark.parametrize("fence", ["", "high", "red"])
def test_other_programs_run_as_before(kit: Kit, program: str, fence: str) -> None:
    plain = kit.run([kit.program(program)], recorded=False)
    ran = kit.run([kit.program(program)], env={"GPUDX_POISON": "nan", **({"GPUDX_FENCE": fence} if fence else {})})
    assert ran.seen == plain.seen


def test_what_comes_back_is_told_with_its_place(kit: Kit) -> None:
    told = [one for one in found(run(kit)) if one.id == BACK]
    first = told[0]
    assert {one.severity for one in told} == {"warning"} and first.count == 2
    assert (
        "cuMemcpyDtoH_v2 (call" in first.message
        and "read back 250 words of memory #1 that hold the pattern" in first.message
    )
    assert "filled it with 0xcbcbcbcb" in first.evidence[0].text
    back = facts(run(kit)).poison.back
    assert [(one.offset, one.first, one.words) for one in back[:2]] == [(0, 0, 250), (500, 500, 100)]


def test_the_first_launch_that_reads_is_named(kit: Kit) -> None:
    (told,) = [one for one in found(run(kit, "given")) if one.id == "read-before-write"]
    assert told.severity == "warning" and told.site is not None
    assert (told.site.kernel, told.site.launch, told.site.argument) == ("scale", 1, 1)
    assert told.message == (
        "Memory #2 was passed to kernel scale as argument 1 (float const*), which is read only, before anything had written it."
    )
    assert any("had filled it with 0xcbcbcbcb, so that is what was read" in one.text for one in told.evidence)


@pytest.mark.parametrize("before", ["first", "other"])
def test_memory_that_may_have_been_written_is_not_named(kit: Kit, before: str) -> None:
    assert not [one for one in found(run(kit, "given", before)) if one.id == "read-before-write"]


def test_without_a_fill_nobody_knows_what_memory_held(kit: Kit) -> None:
    ran = kit.run([kit.program("fresh"), "given"])
    assert not found(ran)


def test_captures_are_left_alone(kit: Kit) -> None:
    plain, ran = kit.run([kit.program("fresh"), "capture"], recorded=False), run(kit, "capture")
    assert ran.seen == plain.seen
    assert facts(ran).poison.missed == Counter({"made while a stream was captured": 2})


def test_streams_of_ours_end_with_their_context(kit: Kit) -> None:
    plain, ran = kit.run([kit.program("fresh"), "contexts"], recorded=False), run(kit, "contexts")
    assert ran.seen == plain.seen and facts(ran).poison.count == 100


@pytest.mark.parametrize("refused", ["cuMemsetD16Async:1:1", "cuMemsetD8Async:1:1", "cuStreamQuery:1:1"])
def test_what_cannot_be_filled_is_the_programs_all_the_same(kit: Kit, refused: str) -> None:
    ran = run(kit, FAKE_CUDA_REFUSE=refused)
    assert ran.returncode == 0
    assert facts(ran).poison.missed == Counter({"the driver refused to fill it": 1}) and facts(ran).poison.count == 4


def test_a_busy_device_gives_other_memory(kit: Kit) -> None:
    """A fill that may still come must not meet what the program writes: the memory it goes to is not the program's."""
    plain = kit.run([kit.program("fresh"), "written"], recorded=False)
    ran = run(kit, "written", FAKE_CUDA_BUSY="1")
    assert ran.seen == plain.seen
    assert facts(ran).poison.missed == Counter({"the device did not fill it in time": 1})


def test_the_instrument_says_what_was_filled(kit: Kit) -> None:
    tool = poisoned_runs.instrument("cb", [facts(run(kit))])
    assert tool.state == "live" and not tool.failed
    assert (
        tool.saw == "Filled 5 of 5 fresh allocations with the pattern cb. The program read it back in 5 copies."
    )
    assert poisoned_runs.instrument("cb", []).failed


def test_a_case_says_what_poison_saw(kit: Kit, tmp_path: Path) -> None:
    env = os.environ | {
        "PYTHONPATH": PYTHONPATH,
        "GPUDX_LIB": str(kit.recorder),
        "LD_LIBRARY_PATH": str(kit.driver),
    }
    words = [
        "run",
        "--case",
        tmp_path / "case",
        "--error-exitcode",
        "9",
        "--poison=nan",
        "--fence",
        "--",
        kit.program("fresh"),
    ]
    done = forked.gpudx(*words, env=env, timeout=60)
    case = casefile.read(tmp_path / "case")
    assert done.returncode == 0 and {one.name: one.state for one in case.instruments[1:]} == {
        "fence": "live",
        "poison": "live",
    }
    assert case.observations[0].experiment == "fenced and poisoned" and any(
        "blocking copy" in text for text in case.not_checked
    )
