"""An investigation in a case: written, read back, and told in every format. Cases from before investigations stay valid."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample_cases import FULL
from support import valid

from gpudx import casefile
from gpudx.investigate.conclude import conclude
from gpudx.investigate.loop import CONFIDENCE, Limits, investigate
from gpudx.model import Case, Investigation
from gpudx.model.investigation import NOT_CUDA, NOT_HIP
from gpudx.report import render

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "diagnose"))
from fake_lab import FakeLab, suggests

SHARED = "kernel-shared-by-threads"


@pytest.fixture(scope="module")
def case() -> Case:
    lab = FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests(SHARED),), not_reached=("one-thread",))
    return conclude(FULL, investigate(Investigation(CONFIDENCE), lab, Limits(300)))


def test_it_is_written_and_read_back(case: Case, tmp_path: Path) -> None:
    casefile.write(case, tmp_path)
    assert casefile.read(tmp_path) == case
    valid.check(casefile.to_json(case))


def test_cases_from_before_stay_valid() -> None:
    data = casefile.to_json(FULL)
    del data["investigation"]
    for seen in data["observations"]:  # type: ignore[union-attr]
        for name in ("low", "high", "others", "shown", "fingerprints"):
            del seen[name]  # type: ignore[union-attr, call-overload, index]
    valid.check(data)
    assert casefile.from_json(data) == FULL


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_every_format_tells_it(case: Case, form: str) -> None:
    text = " ".join(render(case, form).replace("\\", "").split())
    for word in (SHARED, "settled", "out-of-bounds-access", "0 of 7", "turns", "refuted", "against"):
        assert word in text, word


def test_what_counted_and_what_did_not(case: Case) -> None:
    best, *rest = case.diagnosis
    assert (best.cause, best.status) == (SHARED, "confirmed") and any("turns" in one.text for one in best.evidence)
    refuted = next(entry for entry in rest if entry.cause == "out-of-bounds-access")
    assert refuted.status == "refuted" and any("against" in cell.weight for row in _rows(case) for cell in row.cells)
    assert refuted.evidence and all("reported nothing" in one.text for one in refuted.evidence)


def _rows(case: Case) -> tuple[Any, ...]:
    assert case.investigation is not None
    return case.investigation.table


def test_a_failure_that_did_not_come_back_is_the_headline() -> None:
    state = investigate(Investigation(CONFIDENCE), FakeLab({"recorded": 0.0}), Limits(300))
    text = render(conclude(replace(FULL, diagnosis=(), findings=()), state), "terminal")
    assert text.startswith("gpudx: NO FAILURE in ") and "0 of 30 plain runs" in " ".join(text.split())


def test_experiments_for_other_programs_are_left_out(case: Case) -> None:
    """What was not run of those that fit stays, with the reason."""
    assert case.investigation is not None
    missing = (("memcheck", NOT_CUDA), ("kept", NOT_HIP), ("rebuilt", "--rebuild CMD was not given"))
    shown = render(replace(case, investigation=replace(case.investigation, not_run=missing)), "terminal")
    assert "rebuilt: --rebuild CMD was not given" in shown and "CUDA calls" not in shown and "HIP calls" not in shown
    only_others = replace(case, investigation=replace(case.investigation, not_run=missing[:2]))
    assert "not run" not in render(only_others, "terminal")
