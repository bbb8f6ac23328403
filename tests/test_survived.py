"""A bug in one part of the analysis costs that part: the others still give their verdict, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx import errors


def failing(*_: object) -> None:
    raise ZeroDivisionError("of ours")


def test_the_rest_goes_on_and_the_report_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(errors.RAISE, raising=False)
    assert errors.survived("Detector a", failing, "the rest") == "the rest"
    assert errors.survived("Detector b", lambda: "found", "") == "found"
    assert errors.bugs(tmp_path) == (f"Detector a failed, which is a bug in gpudx: please report {tmp_path / errors.BUG}.",)
    assert "ZeroDivisionError: of ours" in (tmp_path / errors.BUG).read_text()
    assert errors.bugs(tmp_path) == (), "each is reported once"


def test_a_users_mistake_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(errors.RAISE, raising=False)

    def refuse() -> None:
        raise errors.UserError("There is no such file.")

    with pytest.raises(errors.UserError):
        errors.survived("Detector a", refuse, None)


def test_where_the_file_cannot_be_written_the_traceback_is_shown(tmp_path: Path) -> None:
    assert errors.keep(tmp_path / "gone", "ZeroDivisionError") == "ZeroDivisionError"
