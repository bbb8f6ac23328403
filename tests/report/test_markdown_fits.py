"""Markdown for an issue: folded where it is aside, never larger than an issue takes, and whole Markdown even when cut."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import html_kit
import pytest
from sample_cases import FULL

from gpudx.figures import draw
from gpudx.model import Case, ProcessInfo
from gpudx.report import Page, render
from gpudx.report.markdown import CUT, MOST_BYTES

LONG = "word " * 700


def huge(text: str) -> Case:
    process = ProcessInfo(1, 1, text, text, 1, 1, (text,), text)
    best = replace(FULL.diagnosis[0], fix=(text,) * 30)
    return replace(FULL, processes=(process,) * 30, not_checked=(text,) * 30, diagnosis=(best,), command=(text,) * 50)


def test_what_is_aside_is_folded() -> None:
    text = render(FULL, "markdown")
    assert "<details><summary>Coverage</summary>\n\n| tool" in text
    assert text.count("<details>") == text.count("\n\n</details>") == 3
    assert CUT not in text and "Left out" not in text


@pytest.mark.parametrize("part", [LONG, "é" * 3999, "<" * 3999, "`" * 3999, html_kit.EVIL.replace("\udcff", "")])
def test_it_fits_into_an_issue(part: str) -> None:
    text = render(huge(part), "markdown")
    assert len(text.encode()) <= MOST_BYTES
    assert text.startswith("# gpudx: CONFIRMED") and CUT in text and "Left out, to fit into an issue: " in text
    assert text.count("<details>") == text.count("</details>")
    assert "<script" not in re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.S | re.M)


def test_traces_are_told_and_pictures_are_not(tmp_path: Path, schema: str) -> None:
    case = html_kit.with_trace(tmp_path, schema)
    text = render(case, "markdown", Page(drawing=draw(case)))
    assert "## The launch and its arguments" in text and "memory \\#<!-- -->2, 4,096 bytes, live" in text
    assert "When it happened" not in text and "## Device memory" in text
