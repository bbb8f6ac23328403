"""What gpudx says while something runs."""

from __future__ import annotations

import pytest

from gpudx.cli import speak


def test_progress_is_one_line_now_and_then_where_stderr_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(speak, "_renewed", None)
    monkeypatch.setattr(speak.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(speak, "_is_terminal", lambda: False)
    speak.renew("it begins", begins=True)
    for number in range(25):
        speak.renew(f"run {number}")
        now[0] += 1
    assert capsys.readouterr().err.splitlines() == ["gpudx: it begins", "gpudx: run 10", "gpudx: run 20"]


def test_progress_is_renewed_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(speak, "_is_terminal", lambda: True)
    monkeypatch.setattr(speak, "_width", lambda: 20)
    for number in range(3):
        speak.renew(f"run {number} of many, many")
    text = capsys.readouterr().err
    assert "\n" not in text and text.count("\r\033[K") == 3 and text.endswith("gpudx: run 2 of man")
