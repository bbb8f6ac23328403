"""Watched HIP memory. Programs are built by the real hipcc; execution is simulated, with no gap between two pieces of memory: a write
past the end of one reaches the next. These tests say nothing about AMD hardware."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cuda_kit import Ran
from hip_kit import Kit
from support import forked
from support.bystanders import PASSED, Look, check_far, check_many, check_past
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.detectors import Run, detect_all
from gpudx.diagnose import watched_runs
from gpudx.facts import derive
from gpudx.model import Case, Finding

CLOSE = {"GPUDX_HIP_SIM_GAP": "0", "GPUDX_HIP_SIM_DEVICES": "2"}
EACH = pytest.mark.parametrize("each", ["0", "1"])


def watch(kit: Kit, *words: str, program: str = "watched", each: str = "0", **more: str) -> Ran:
    how = {"GPUDX_WATCH": "1", "GPUDX_SERIALISE": each}
    return kit.run_hip(kit.hip_program(program), *words, **CLOSE, **how, **more)


def plain(kit: Kit, *words: str, program: str = "watched", **more: str) -> Ran:
    return kit.run_hip(kit.hip_program(program), *words, record=False, **CLOSE, **more)


def found(ran: Ran) -> list[Finding]:
    return [finding for trace in ran.traces() for finding in detect_all(derive(trace), Run(PASSED))]


def looking(kit: Kit) -> Look:
    return lambda mode, each="0": found(watch(kit, mode, each=each))


def bystanders(ran: Ran) -> list[Finding]:
    return [one for one in found(ran) if one.id == "bystander-changed"]


@EACH
def test_a_correct_program_runs_as_before_and_is_silent(kit: Kit, each: str) -> None:
    """All families, two streams, copies by range, four threads that make and free memory, a stream that goes at work."""
    ran = watch(kit, "ok", each=each)
    assert ran.seen == plain(kit, "ok").seen and ran.returncode == 0 and found(ran) == []
    told = derive(ran.trace()).watch
    assert (
        told.counts["looks"] > 20 and told.counts["watched"] == 205 and not told.counts["untold"] and not told.stopped
    )
    assert told.missed == {
        "managed memory, which the program can write at any time": 1,
        "memory with flags, which the host may write": 1,
        "host memory": 1,
    }


@EACH
@pytest.mark.parametrize("delay", ["0", "5"])
def test_two_devices_one_of_which_is_reset(kit: Kit, each: str, delay: str) -> None:
    ran = watch(kit, "devices", each=each, GPUDX_HIP_SIM_DELAY_MS=delay)
    assert ran.seen == plain(kit, "devices").seen and ran.returncode == 0 and found(ran) == []
    told = derive(ran.trace()).watch
    assert told.counts["looks"] > 3 and told.counts["watched"] == 2 and not told.stopped


@EACH
@pytest.mark.parametrize("delay", ["0", "5"])
def test_the_threads_own_stream_is_asked_by_that_thread(kit: Kit, each: str, delay: str) -> None:
    ran = watch(kit, "own", each=each, GPUDX_HIP_SIM_DELAY_MS=delay)
    assert ran.seen == plain(kit, "own").seen and ran.returncode == 0 and found(ran) == []
    assert derive(ran.trace()).watch.counts["looks"] >= 5


@EACH
@pytest.mark.parametrize("delay", ["0", "20"])
def test_the_last_error_stays_as_it_was(kit: Kit, each: str, delay: str) -> None:
    """Streams that are not ready, and events of streams that went, would leave an error behind."""
    ran = watch(kit, "errors", each=each, GPUDX_HIP_SIM_DELAY_MS=delay)
    assert ran.seen == plain(kit, "errors").seen and "refused: peek 1, last 1" in ran.stdout
    told = derive(ran.trace()).watch
    assert told.counts["looks"] > 0 and not told.stopped and bystanders(ran) == []
    assert each == "1" or delay == "0" or told.counts["busy"] > 0


@pytest.mark.parametrize(
    "more",
    [{}, {"GPUDX_SERIALISE": "1"}, {"GPUDX_FENCE": "high"}, {"GPUDX_FENCE": "red"}, {"GPUDX_POISON": "nan"}],
    ids=["waits", "launches", "fence", "red", "poison"],
)
@pytest.mark.parametrize(("program", "words"), [("tour", ()), ("graphs", ("captured", "keep")), ("red", ("around",))])
def test_other_programs_run_as_before(kit: Kit, program: str, words: tuple[str, ...], more: dict[str, str]) -> None:
    how = {"GPUDX_WATCH": "1", "GPUDX_HIP_SIM_DEVICES": "2", **more}
    ran = kit.run_hip(kit.hip_program(program), *words, **how)
    before = kit.run_hip(kit.hip_program(program), *words, record=False, GPUDX_HIP_SIM_DEVICES="2")
    assert ran.seen == before.seen and bystanders(ran) == []


@EACH
def test_a_launch_that_writes_behind_its_memory_is_named(kit: Kit, each: str) -> None:
    says = "of memory #3 (4,000 bytes), which it was not passed; argument 0 (memory #2) ends"
    check_past(looking(kit), each, says)


def test_one_of_many_is_named_by_looking_at_each(kit: Kit) -> None:
    check_many(looking(kit))


def test_far_from_its_own_memory_it_is_a_warning(kit: Kit) -> None:
    check_far(looking(kit))


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("follow", "an address of the memory was seen in other memory"),
        ("capture", "work ran in between whose memory is not recorded"),
    ],
)
@EACH
def test_what_may_have_been_given_all_the_same_is_not_judged(kit: Kit, mode: str, why: str, each: str) -> None:
    ran = watch(kit, mode, each=each)
    facts = derive(ran.trace())
    assert ran.seen == plain(kit, mode).seen and ran.returncode == 0 and found(ran) == []
    assert any(why in reason for reason in facts.bystanders.unjudged)
    assert f"not judged: {why}" in watched_runs.instrument([facts]).saw


def test_nothing_is_looked_at_where_nothing_was_asked_for(kit: Kit) -> None:
    told = derive(kit.run_hip(kit.hip_program("watched"), "past", **CLOSE).trace()).watch
    assert not told.counts and not told.missed


# ---- as a user runs it ----


def gpudx(kit: Kit, case: Path, *words: str | Path) -> tuple[subprocess.CompletedProcess[str], Case]:
    built = kit.hip_program("watched")
    env = os.environ | built.environment | CLOSE | {"PYTHONPATH": PYTHONPATH, "GPUDX_LIB": str(kit.recorder)}
    done = forked.gpudx("run", "--case", case, "--error-exitcode", "9", *words, env=env, timeout=60)
    return done, casefile.read(case)


def test_a_second_run_names_the_launch(kit: Kit, tmp_path: Path) -> None:
    done, case = gpudx(kit, tmp_path / "case", "--watch", "--", kit.hip_program("watched").program, "many")
    assert done.returncode == 9 and done.stdout.count("done") == 2, done.stderr
    assert "running again to check each launch" in done.stderr
    first = case.diagnosis[0]
    assert first.guilty is not None and (first.guilty.kernel, first.guilty.launch) == ("poke", 21)
    assert first.status == "likely" and [i.name for i in case.instruments[1:]] == ["watch", "watch, second run"]


@pytest.mark.slow
def test_a_correct_run_is_clean_and_made_once(kit: Kit, tmp_path: Path) -> None:
    done, case = gpudx(kit, tmp_path / "case", "--watch", "--", kit.hip_program("watched").program, "ok")
    assert done.returncode == 0 and case.findings == () and case.instruments[1].state == "live"
    assert done.stdout.count("done") == 1
