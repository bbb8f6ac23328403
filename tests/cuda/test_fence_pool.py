"""Fenced blocks that rest between a free and the next allocation of their size, on the fake driver: GPUDX_FENCE_BUDGET says how much of the
run may go into taking freed blocks out of reach."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from cuda_kit import Kit, Ran

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import fenced_runs
from gpudx.facts import derive
from gpudx.model import Outcome
from gpudx.model.how import Fence

SEGV = -signal.SIGSEGV
NOTHING, DEFAULT, EVERYTHING = "0", "25", "100"  # percent of the run that may go into taking freed blocks out of reach
WORDS = [("rounds", "10"), ("rounds", "10", "other"), ("shapes", "20"), ("across",), ("twice",), ("threads",), ("context",)]


def run(kit: Kit, *words: str, budget: str = NOTHING, **more: str) -> Ran:
    return kit.run([kit.program("resting"), *words], env={"GPUDX_FENCE": "high", "GPUDX_FENCE_BUDGET": budget, **more})


def plain(kit: Kit, *words: str) -> Ran:
    return kit.run([kit.program("resting"), *words], recorded=False)


def addresses(ran: Ran) -> int:
    return int(ran.stderr)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("budget", [NOTHING, EVERYTHING, DEFAULT])
def test_programs_run_as_before_and_are_not_accused(kit: Kit, words: tuple[str, ...], budget: str) -> None:
    ran = run(kit, *words, budget=budget)
    assert (ran.returncode, ran.stdout) == (0, plain(kit, *words).stdout)
    outcome = Outcome("passed", "The program ended.", 0)
    found = [one for one in detect_all(derive(ran.trace()), Run(outcome)) if one.severity == "error"]
    assert [one.id for one in found] == (["use-of-released-object"] if words == ("twice",) else [])  # the second free


def test_blocks_of_the_default_stream_are_used_again(kit: Kit) -> None:
    assert addresses(run(kit, "rounds", "10")) == 6  # two of each of the three sizes
    assert addresses(run(kit, "rounds", "10", budget=EVERYTHING)) == 60


def test_a_short_program_has_every_freed_block_out_of_reach(kit: Kit) -> None:
    """Fencing may take a second before its share of the run counts."""
    assert addresses(run(kit, "rounds", "10", budget=DEFAULT)) == 60


def test_blocks_of_other_streams_are_used_again_in_their_stream(kit: Kit) -> None:
    assert addresses(run(kit, "rounds", "10", "other")) == 6


@pytest.mark.parametrize("words", ["rounds", "shapes"])
def test_the_driver_maps_nothing_once_a_program_goes_round(kit: Kit, tmp_path: Path, words: str) -> None:
    """Sizes that come again take blocks as they are, others the mappings of blocks whose work is done."""

    def mapping_calls(rounds: int) -> int:
        told = tmp_path / f"{rounds}"
        run(kit, words, str(rounds), FAKE_CUDA_STREAMS=str(told))
        return sum(line.startswith(("cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap")) for line in told.read_text().splitlines())

    assert mapping_calls(20) == mapping_calls(200) > 0


@pytest.mark.parametrize("words", ["across", "reborn"])
def test_another_stream_has_a_block_when_its_stream_is_past_the_free(kit: Kit, words: str) -> None:
    """Not before, also where a new stream has the handle of the old one; the fake's events are ready when asked a fourth time."""
    said = run(kit, words).stderr.splitlines()
    assert "- later" in said


def test_a_use_after_the_free_is_found_where_there_was_time(kit: Kit) -> None:
    assert run(kit, "freed", budget=DEFAULT).returncode == run(kit, "freed", budget=EVERYTHING).returncode == SEGV
    assert run(kit, "freed").returncode == 0


def test_what_rests_is_given_up_for_the_program(kit: Kit) -> None:
    ran = run(kit, "large")
    assert ran.returncode == 0 and len(derive(ran.trace()).fences.blocks) == 65


def test_the_report_says_how_much_memory_it_took(kit: Kit) -> None:
    told = fenced_runs.instrument(Fence(), [derive(run(kit, "large").trace())])
    assert "took up to 128 MB of device memory" in told.saw


def test_a_block_that_rested_still_has_its_fence(kit: Kit) -> None:
    assert run(kit, "past").returncode == SEGV
    assert run(kit, "past", budget=EVERYTHING).returncode == SEGV


def test_each_life_of_a_block_is_recorded(kit: Kit) -> None:
    facts = derive(run(kit, "rounds", "4").trace())
    assert len(facts.fences.blocks) == 24 and all(block.freed is not None for block in facts.fences.blocks)


def test_the_report_says_how_many_stayed_accessible(kit: Kit) -> None:
    trace = run(kit, "rounds", "4").trace()
    told = [trace.text(int(at)) for at in trace.named("note_gave_up")]
    assert any("A freed buffer stayed accessible until its memory was allocated again" in text for text in told)
    quiet = run(kit, "rounds", "4", budget=EVERYTHING).trace()
    assert not len(quiet.named("note_gave_up"))


def test_after_a_fault_frees_and_allocations_fail(kit: Kit) -> None:
    """As they would without a pool."""
    words = ("rounds", "10")
    fault = {"FAKE_CUDA_FAIL": "cuLaunchKernel:5:700"}
    ran = run(kit, *words, **fault)
    expected = kit.run([kit.program("resting"), *words], recorded=False, env=fault)
    assert (ran.returncode, ran.stdout) == (expected.returncode, expected.stdout)
