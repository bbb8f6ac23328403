"""gpudx rule: the text of an id, and near names for one that is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpudx import causes, detectors
from gpudx.cli import make_app, page
from gpudx.cli.rule import values
from gpudx.errors import UserError
from gpudx.report import Page


def printed(*words: str) -> str:
    done = CliRunner().invoke(make_app("rule"), ["rule", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_detector_and_its_cause_are_both_explained() -> None:
    text = printed("hang")
    assert "hang (detector)" in text and "hang (cause)" in text
    assert causes.every()["hang"].fix[0] in " ".join(text.split())


def test_the_id_that_lint_prints_is_known() -> None:
    assert printed("exit-before-barrier").startswith("lint-exit-before-barrier (lint rule)")


def test_every_text_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words stay whole; only code is longer than the line."""
    monkeypatch.setattr(page, "page_here", lambda: Page(80))
    for name in ("environment-note", "unordered-access", "stale-argument", "fenced", ""):
        assert not [line for line in printed(name).splitlines() if len(line) > 80]


@pytest.mark.parametrize("name", ["memcheck", "xid", "spills"])
def test_experiments_formats_and_gates_have_texts(name: str) -> None:
    assert len(printed(name).splitlines()) > 2


def test_every_id_is_listed() -> None:
    text = printed()
    ids = {*causes.every(), *(one.ID for one in detectors.every())}
    assert ids <= set(values()) and not [name for name in values() if f"  {name} " not in text]


def test_ids_that_tools_report_are_explained() -> None:
    """Those of kept cases, and one of each family."""
    kept = Path(__file__).parents[1] / "report/screens"
    ids = {one["id"] for path in kept.glob("*.json") for one in json.loads(path.read_text())["findings"]}
    for name in sorted(ids | {"kernel-check-nan", "sanitizer-race", "oclgrind-bounds", "gpu-exception-trap", "log-xid", "kernel-spills"}):
        assert printed(name)
    assert "(tool report)" in printed("log-xid")
    assert not [one for one in values() if "*" in one]
    with pytest.raises(UserError, match="no rule 'kernel-checks'"):
        printed("kernel-checks")


def test_an_unknown_name_lists_near_ones() -> None:
    with pytest.raises(UserError, match="did you mean use-after-free"):
        printed("use-after-fre")
    with pytest.raises(UserError, match="`gpudx rule` lists all"):
        printed("xyzzy")
