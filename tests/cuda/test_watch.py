"""Watched memory on the fake driver, whose device memory is the host's: a kernel of it can write into other memory.

No GPU was asked: these tests say that the hooks are right, and what is made of their notes.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cuda_kit import WAYS, Kit, Ran
from support import forked
from support.bystanders import PASSED, Look, check_far, check_many, check_past
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.detectors import Run, detect_all
from gpudx.diagnose import watched_runs
from gpudx.facts import derive
from gpudx.model import Case, Finding


def watch(kit: Kit, *words: str, each: str = "0", **more: str) -> Ran:
    return kit.run([kit.program("watched"), *words], env={"GPUDX_WATCH": "1", "GPUDX_SERIALISE": each, **more})


def found(ran: Ran) -> list[Finding]:
    return [finding for trace in ran.traces() for finding in detect_all(derive(trace), Run(PASSED))]


def looking(kit: Kit) -> Look:
    return lambda mode, each="0": found(watch(kit, mode, each=each))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("each", ["0", "1"])
def test_a_correct_program_runs_as_before_and_is_silent(kit: Kit, way: str, each: str) -> None:
    plain = kit.run([kit.program("watched", way=way)], recorded=False)
    ran = kit.run([kit.program("watched", way=way)], env={"GPUDX_WATCH": "1", "GPUDX_SERIALISE": each})
    assert plain.returncode == 0 and ran.seen == plain.seen and found(ran) == []
    counts = derive(ran.trace()).watch.counts
    assert counts["looks"] > 20 and counts["watched"] == 204 and not counts["untold"]


@pytest.mark.parametrize("program", ["tour", "memory", "threads", "fenced", "model"])
@pytest.mark.parametrize(
    "more", [{}, {"GPUDX_SERIALISE": "1"}, {"GPUDX_FENCE": "high"}], ids=["waits", "launches", "fence"]
)
def test_other_programs_run_as_before(kit: Kit, program: str, more: dict[str, str]) -> None:
    plain = kit.run([kit.program(program)], recorded=False)
    ran = kit.run([kit.program(program)], env={"GPUDX_WATCH": "1", **more})
    assert ran.seen == plain.seen
    assert [f for f in found(ran) if f.id == "bystander-changed"] == []


@pytest.mark.parametrize("each", ["0", "1"])
def test_a_launch_that_writes_behind_its_memory_is_named(kit: Kit, each: str) -> None:
    says = "changed bytes 0 to 3 of memory #2 (4,000 bytes), which it was not passed; argument 0 (memory #1) ends"
    check_past(looking(kit), each, says)


def test_one_of_many_is_named_by_looking_at_each(kit: Kit) -> None:
    check_many(looking(kit))


def test_far_from_its_own_memory_it_is_a_warning(kit: Kit) -> None:
    check_far(looking(kit))


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("follow", "an address of the memory was seen in other memory"),
        ("shared", "the memory was passed to calls by which others can write it"),
        ("capture", "work ran in between whose memory is not recorded"),
    ],
)
@pytest.mark.parametrize("each", ["0", "1"])
def test_what_may_have_been_given_all_the_same_is_not_judged(kit: Kit, mode: str, why: str, each: str) -> None:
    ran = watch(kit, mode, each=each)
    facts = derive(ran.trace())
    assert ran.returncode == 0 and found(ran) == []
    assert any(why in reason for reason in facts.bystanders.unjudged)
    assert f"not judged: {why}" in watched_runs.instrument([facts]).saw


def test_an_error_of_ours_ends_the_looks_and_not_the_program(kit: Kit) -> None:
    plain = kit.run([kit.program("watched"), "past"], recorded=False)
    ran = watch(kit, "past", FAKE_CUDA_REFUSE="cuStreamQuery:2:700")  # the first asks for our own copy
    assert ran.seen == plain.seen and found(ran) == []
    tool = watched_runs.instrument([derive(ran.trace())])
    assert tool.failed and "Watching ended early: a stream reported an error." in tool.saw


def test_memory_that_cannot_be_read_is_left_out(kit: Kit) -> None:
    plain = kit.run([kit.program("watched"), "past"], recorded=False)
    ran = watch(kit, "past", FAKE_CUDA_REFUSE="cuMemHostAlloc:1:2")
    assert ran.seen == plain.seen
    assert derive(ran.trace()).watch.missed == {"it cannot be read": 1}


@pytest.mark.parametrize("each", ["0", "1"])
def test_a_copy_that_never_ends_does_not_hold_the_program(kit: Kit, each: str) -> None:
    """The third stream is ours. It stands still, as behind a kernel that waits for the program in a shared hardware queue."""
    plain = kit.run([kit.program("watched"), "still"], recorded=False)
    ran = watch(kit, "still", each=each, FAKE_CUDA_STUCK="3")
    assert ran.seen == plain.seen and found(ran) == []
    facts = derive(ran.trace())
    tool = watched_runs.instrument([facts])
    assert tool.failed and "Watching ended early: a copy of watched memory did not come to an end." in tool.saw
    assert facts.watch.missed == {"it cannot be read": 1}


def test_a_stream_of_the_program_that_never_ends_is_not_waited_for(kit: Kit) -> None:
    plain = kit.run([kit.program("watched"), "still"], recorded=False)
    ran = watch(kit, "still", FAKE_CUDA_STUCK="2")
    told = derive(ran.trace()).watch
    assert ran.seen == plain.seen and found(ran) == []
    assert told.counts["busy"] > 0 and not told.stopped and not told.missed


# ---- as a user runs it ----


def gpudx(kit: Kit, case: Path, *words: str | Path) -> tuple[subprocess.CompletedProcess[str], Case]:
    env = os.environ | {
        "PYTHONPATH": PYTHONPATH,
        "GPUDX_LIB": str(kit.recorder),
        "LD_LIBRARY_PATH": str(kit.driver),
    }
    done = forked.gpudx("run", "--case", case, "--error-exitcode", "9", *words, env=env, timeout=60)
    return done, casefile.read(case)


def test_a_second_run_names_the_launch(kit: Kit, tmp_path: Path) -> None:
    done, case = gpudx(kit, tmp_path / "case", "--watch", "--", kit.program("watched"), "many")
    assert done.returncode == 9 and done.stdout.count("done") == 2
    assert "running again to check each launch" in done.stderr
    first = case.diagnosis[0]
    assert first.guilty is not None and (first.guilty.kernel, first.guilty.launch) == ("poke", 21)
    assert [o.experiment for o in case.observations] == ["watched", "watched and serialised"]
    assert [i.name for i in case.instruments[1:]] == ["watch", "watch, second run"]
    again = casefile.read(tmp_path / "case/again")
    assert again.findings[0].message == case.findings[0].message
    done, case = gpudx(kit, tmp_path / "like", "--watch", "--serialise", "--like", tmp_path / "case")
    assert done.stdout.count("done") == 1
    assert case.diagnosis[0].guilty is not None and case.diagnosis[0].guilty.launch == 21


def test_once_is_once(kit: Kit, tmp_path: Path) -> None:
    done, case = gpudx(kit, tmp_path / "case", "--watch=once", "--", kit.program("watched"), "many")
    assert done.returncode == 9 and done.stdout.count("done") == 1 and case.diagnosis[0].status == "inconclusive"
    assert not (tmp_path / "case/again").exists()


def test_a_correct_run_is_clean_and_made_once(kit: Kit, tmp_path: Path) -> None:
    done, case = gpudx(kit, tmp_path / "case", "--watch", "--", kit.program("watched"), "ok")
    assert done.returncode == 0 and case.findings == () and case.instruments[1].state == "live"
    assert done.stdout.count("done") == 1 and "pool of a framework" in case.not_checked[0]


def test_a_run_without_a_look_is_not_clean(kit: Kit, tmp_path: Path) -> None:
    done, case = gpudx(kit, tmp_path / "case", "--watch", "--", "true")
    assert done.returncode == 9 and (case.instruments[1].name, case.instruments[1].state) == ("watch", "not live")
