"""[[suppress]] in gpudx.toml: what is accepted, until when, and what is a mistake."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from sample_cases import FULL

from gpudx.errors import UserError
from gpudx.lab.project_file import suppressions
from gpudx.model import Outcome
from gpudx.model.suppression import Suppression, unsuppressed
from gpudx.report.brief import one_line
from gpudx.report.screen import coverage

TODAY = date(2026, 11, 16)


def test_a_finding_is_taken_away_with_a_sentence() -> None:
    first = FULL.findings[0]
    left, notes = unsuppressed(FULL.findings, [Suppression(first.id, "known")], TODAY)
    assert first not in left and len(left) < len(FULL.findings)
    assert len(notes) == 1 and first.id in notes[0] and "known" in notes[0]


def test_an_expired_one_takes_nothing_away() -> None:
    first = FULL.findings[0]
    last_day = Suppression(first.id, "known", expires=TODAY)
    assert first not in unsuppressed(FULL.findings, [last_day], TODAY)[0]
    left, notes = unsuppressed(FULL.findings, [Suppression(first.id, "known", expires=date(2026, 11, 15))], TODAY)
    assert left == list(FULL.findings) and "expired on 2026-11-15" in notes[0]


@pytest.mark.parametrize("more", [{"kernel": "no_such_*"}, {"path": "no/such/*"}])
def test_patterns_that_do_not_fit(more: dict[str, str]) -> None:
    rows = [Suppression(FULL.findings[0].id, "known", **more)]
    assert unsuppressed(FULL.findings, rows, TODAY) == (list(FULL.findings), [])


def test_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gpudx.toml"
    assert suppressions(file) == ()
    file.write_text('[gate]\nspills = 0\n[[suppress]]\nrule = "a"\nreason = "b"\nkernel = "k*"\nexpires = 2027-01-31\n')
    assert suppressions(file) == (Suppression("a", "b", "k*", "", date(2027, 1, 31)),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[suppress]]\nrule = 'a'", "needs a reason"),
        ("[[suppress]]\nrule = 'a'\nreason = 'b'\nkernal = 'c'", "no key 'kernal'"),
        ("[[suppress]]\nrule = 'a'\nreason = 'b'\nexpires = 'soon'", "must be a date"),
        ("suppress = 3", "[[suppress]]"),
        ("= 3", "not valid TOML"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "gpudx.toml"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        suppressions(file)
    assert said in str(error.value)


def test_a_run_without_other_faults_is_not_silent_about_it() -> None:
    notes = unsuppressed(FULL.findings, [Suppression("*", "known")], TODAY)[1]
    clean = replace(FULL, findings=(), diagnosis=(), outcome=Outcome("passed", "It passed.", 0), not_checked=tuple(notes))
    assert "Suppressed by gpudx.toml: *" in one_line(clean) and "(known)." in one_line(clean)
    assert "Suppressed" not in one_line(replace(clean, not_checked=()))
    failing = replace(FULL, not_checked=tuple(notes))
    assert "suppressed by gpudx.toml: *" in coverage(failing)
