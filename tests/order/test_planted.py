"""Planted ordering bugs are told, with both calls and the buffer; their twins and correct programs are not accused.

The CUDA programs run on the fake driver of tests/cuda: no GPU takes part, and what is judged is the order of the recorded
calls. The OpenCL programs run on a real driver.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, CORRECT, JUDGED, Case
from order_kit import Played, Stage
from support.typed import label

from gpudx import detectors
from gpudx.model import Finding

HAVE = {module.ID for module in detectors.every()}
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def numbers(played: Played, call: str) -> list[int]:
    """The numbers of all calls of a name, as sites have them."""
    assert played.trace is not None
    info = played.trace.schema.by_name(call)
    assert info is not None, call
    return [int(at) + 1 for at in np.flatnonzero(played.trace.call == info.number)]


def expected(case: Case, played: Played) -> list[set[int]]:
    """The call numbers that each site of a case may have."""
    found = [(numbers(played, call), nth) for call, nth in case.sites]
    return [set(all_of_them[nth - 1 : nth] if nth else all_of_them) for all_of_them, nth in found]


def sites(finding: Finding) -> set[int]:
    first = [finding.site] if finding.site else []
    return {site.number for site in (*first, *finding.others)}


def size(played: Played, finding: Finding) -> int | None:
    """Of the allocation that a finding names."""
    objects = played.facts.objects
    rows = [row for row in range(len(objects.table)) if objects.label(row) == label(finding)]
    return int(objects.table["size"][rows[0]]) if len(rows) == 1 else None


def matters(findings: tuple[Finding, ...]) -> list[Finding]:
    """Errors of any detector, and warnings of those that are judged here."""
    return [f for f in findings if f.severity == "error" or (f.severity == "warning" and f.id in JUDGED)]


def spoken(findings: list[Finding]) -> str:
    return (
        "\n".join(f"{f.severity} {f.id} {sorted(sites(f))}: {f.message} {f.pair}" for f in findings) or "nothing told"
    )


@pytest.mark.parametrize("which", ["bug", "twin"])
@every_case
def test_runs_as_without_the_recorder(stage: Stage, case: Case, which: str) -> None:
    plain, recorded = (stage(case.program, case.mode, which, recorded) for recorded in (False, True))
    assert (
        (recorded.code, recorded.output)
        == (plain.code, plain.output)
        == (0, {"bug": "done\n", "twin": "right\n"}[which])
    )


@every_case
def test_the_trace_has_the_calls_of_the_table(stage: Stage, case: Case) -> None:
    assert all(expected(case, stage(*case.command))), case.sites


@every_case
def test_bug_is_told_with_both_calls_and_its_buffer(stage: Stage, case: Case) -> None:
    if case.detectors[0] not in HAVE:
        pytest.skip(f"no detector {case.detectors[0]} yet")
    played = stage(*case.command)
    wanted, told = expected(case, played), [f for f in matters(played.findings) if f.id in case.detectors]
    good = [f for f in told if all(places & sites(f) for places in wanted)]
    assert good, f"calls {wanted} by {case.rule}\nrepair: {case.repair}\n{spoken(matters(played.findings))}"
    assert not case.sizes or size(played, good[0]) in case.sizes, f"a buffer of {case.sizes} bytes\n{spoken(good)}"


@every_case
def test_nothing_else_is_told_of_a_bug(stage: Stage, case: Case) -> None:
    """What else is told has to do with one of the two calls, or with what stands for the missing edge."""
    played = stage(*case.command)
    known = set().union(*expected(case, played))
    strange = [f for f in matters(played.findings) if f.id not in case.detectors and not known & sites(f)]
    assert not strange, spoken(strange)


@every_case
def test_twin_is_not_accused(stage: Stage, case: Case) -> None:
    found = matters(stage(case.program, case.mode, "twin").findings)
    assert not found, spoken(found)


@pytest.mark.parametrize(("program", "mode"), CORRECT)
def test_correct_program_is_not_accused(stage: Stage, program: str, mode: str) -> None:
    plain, recorded = (stage(program, mode, "twin", recorded) for recorded in (False, True))
    assert (recorded.code, recorded.output) == (plain.code, plain.output) == (0, "right\n")
    assert not matters(recorded.findings), spoken(matters(recorded.findings))
