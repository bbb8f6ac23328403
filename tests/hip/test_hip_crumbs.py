"""Breadcrumbs behind HIP work. Programs are built by the real hipcc; execution is simulated (tests/hip/sim). These tests say nothing
about AMD hardware."""

from __future__ import annotations

from pathlib import Path

import pytest
from hip_kit import Kit

from gpudx.facts import derive
from gpudx.facts.crumbs import State
from gpudx.trace.crumbs import read_crumbs


def test_the_launch_that_faults_is_named_in_the_first_run(kit: Kit, tmp_path: Path) -> None:
    built = kit.hip_program("faults")
    case = kit.case_of(built, tmp_path, "second", GPUDX_CRUMBS="all")
    entry = case["diagnosis"][0]
    assert entry["guilty"]["launch"] == 2 and entry["status"] == "likely", entry["summary"]  # the status is no cause
    assert any("1 of 2 launches had completed" in e["text"] for e in entry["evidence"])


@pytest.mark.parametrize("crumbs", ["all", "", "off"])
@pytest.mark.parametrize("words", [("good",), ("checked",), ("limits",), ("past",)])
def test_programs_behave_as_without(kit: Kit, crumbs: str, words: tuple[str, ...]) -> None:
    """`checked` asks for the last error right behind a launch: nothing of ours may be in it."""
    built = kit.hip_program("faults")
    plain = kit.run_hip(built, *words, record=False)
    ran = kit.run_hip(built, *words, GPUDX_CRUMBS=crumbs)
    assert ran.seen == plain.seen


def test_a_correct_program_leaves_crumbs_that_were_all_reached(kit: Kit) -> None:
    facts = derive(kit.run_hip(kit.hip_program("faults"), "good", GPUDX_CRUMBS="all").trace())
    (row,) = read_crumbs(facts.trace)
    assert row.issued == row.cell == 1 and list(facts.crumbs.at(facts.launches.position)) == [State.DONE]
    assert not facts.crumbs.why_not
