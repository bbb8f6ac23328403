"""Words inside the pictures of HTML reports: in the language of the report, and names as they are."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import html_kit
import pytest
from test_heat_map import SEVERAL

from gpudx.model import Case
from gpudx.report import Page, render
from gpudx.report.html.pictures import words
from gpudx.report.languages import languages, spoken

OTHERS = [one for one in languages() if one != "en"]
PHRASES = [text for text in words.every() if " " in text]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, schema: str) -> Case:
    return html_kit.with_trace(tmp_path_factory.mktemp("case"), schema)


def figures(text: str) -> str:
    return "".join(re.findall(r"<figure>(.*?)<figcaption>", text, re.DOTALL))


def told(text: str) -> list[dict[str, Any]]:
    return [json.loads(one) for one in re.findall(r'<script type="application/json">(.*?)</script>', text)]


@pytest.mark.parametrize("language", OTHERS)
def test_every_word_has_an_entry(language: str) -> None:
    assert not [text for text in PHRASES if spoken(text, language) == text]


@pytest.mark.parametrize("language", OTHERS)
def test_pictures_speak_the_language_of_the_report(case: Case, language: str) -> None:
    drawn = figures(html_kit.html(case, language))
    assert not [text for text in PHRASES if text in drawn]
    for text in ("Zoom in", "Show guilty", "failed or in flight", words.NO_SCRIPT):
        assert spoken(text, language) in drawn and text in figures(html_kit.html(case))


@pytest.mark.parametrize("language", OTHERS)
def test_the_script_gets_its_words_with_the_data(case: Case, language: str) -> None:
    line, memory = told(html_kit.html(case, language))
    assert line["words"]["guilty"] == spoken("guilty", language) and line["kinds"][2] == spoken("wait", language)
    assert memory["words"]["made"] == spoken("made by call", language)
    assert memory["states"][:2] == [spoken("live", language), spoken("freed", language)]
    assert {point["text"] for point in memory["points"]} == {
        spoken(point["text"], language) for point in told(html_kit.html(case))[1]["points"]
    }


def test_names_of_the_program_stay(case: Case) -> None:
    """Of kernels and calls: one of them may be called "wait"."""
    assert told(html_kit.html(case, "ko"))[0]["names"] == told(html_kit.html(case))[0]["names"]


def test_the_script_has_no_words_of_its_own() -> None:
    script = files("gpudx.report.html").joinpath("report.js").read_text(encoding="utf-8")
    code = re.sub(r"^\s*//.*$", "", script, flags=re.MULTILINE)
    assert not re.findall(r"[`\"](?:made by|freed by|took|at|call|guarded)\b[^`\"]*\$\{", code)
    assert not [text for text in PHRASES if text in code]


@pytest.mark.parametrize("language", OTHERS)
def test_the_heat_map(language: str) -> None:
    text = figures(render(SEVERAL, "html", Page(language=language)))
    for word in ("verdict", "concurrency-dependent", "up to half"):
        assert spoken(word, language) in text and f">{word}<" not in text
    assert ">as-is<" in text and ">beside<" in text


def test_english_pictures_say_what_they_said(case: Case) -> None:
    line, memory = told(html_kit.html(case))
    assert line["words"] == words.OF_CALLS and memory["words"] == words.OF_BLOCKS
    assert figures(html_kit.html(case)).count("Show guilty") == 1
