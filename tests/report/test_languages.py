"""The skeleton of reports in other languages: entries name texts of the sources, and what has no entry stays English."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from sample_cases import DIAGNOSIS, FULL

from gpudx import causes
from gpudx.errors import UserError
from gpudx.model import Guilty
from gpudx.report import Page, render
from gpudx.report.languages import chosen, entries, languages, spoken, spoken_head

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import translations

OTHERS = [one for one in languages() if one != "en"]


@pytest.mark.parametrize("language", OTHERS)
def test_entries_name_texts_that_exist(language: str) -> None:
    assert not entries(language).keys() - translations.constants(), "texts changed: tools/translations.py removes these"


def test_languages_have_the_same_entries() -> None:
    first, *rest = (entries(one).keys() for one in OTHERS)
    assert all(one == first for one in rest)


def test_a_text_without_an_entry_stays_english() -> None:
    for text in ("", "out of cheese", "Memory #3 had been freed.", "WAIT FOR IT", "launch_rows"):
        assert spoken(text, "ko") == text
    assert spoken_head("Nonsense: 2 errors", ": ", "ko") == "Nonsense: 2 errors"


def test_the_head_of_a_text_is_translated_and_its_detail_kept() -> None:
    assert spoken_head("CONFIRMED hang", " ", "es") == "CONFIRMADO hang"
    assert spoken_head("Findings: 2 errors", ": ", "es") == "Hallazgos: 2 errors"
    assert spoken_head("NOTHING RECOGNISED", " ", "es") == "NADA RECONOCIDO"


@pytest.mark.parametrize("language", OTHERS)
def test_a_verdict_is_one_word_before_a_cause(language: str) -> None:
    """The page shows what follows the first word as the cause's id."""
    for word in ("CONFIRMED", "LIKELY", "INCONCLUSIVE", "REFUTED"):
        said = spoken(word, language)
        assert said != word and " " not in said and said == said.upper()


def test_which_language() -> None:
    asked = ("", "C", "ko", "ko_KR.UTF-8", "ES", "en-US")
    assert [chosen(text) for text in asked] == ["en", "en", "ko", "ko", "es", "en"]
    with pytest.raises(UserError, match="choose one of en, es, ko"):
        chosen("xx")


# ---- reports ----


def real(language: str, format: str) -> str:
    cause = causes.every()["use-after-free"]
    guilty = Guilty(api="cuda", call="cuLaunchKernel", number=20, kernel="launch", launch=3)
    entry = replace(DIAGNOSIS, cause=cause.id, guilty=guilty, refutes_if=cause.refutes_if, fix=cause.fix)
    return render(replace(FULL, diagnosis=(entry,)), format, Page(200, language=language))


def bare(text: str) -> str:
    """Lines are broken at different places."""
    return "".join(text.split())


@pytest.mark.parametrize("format", ["terminal", "markdown", "html", "junit", "sarif"])
def test_every_format_translates_the_advice(format: str) -> None:
    advice = next(one for one in causes.every()["use-after-free"].fix if one in entries("ko"))
    text = real("ko", format)
    if format == "sarif":
        text = json.dumps(json.loads(text), ensure_ascii=False)
    assert bare(spoken(advice, "ko")) in bare(text) and bare(advice) not in bare(text)


def test_names_and_sentences_with_numbers_stay() -> None:
    text = real("ko", "terminal")
    assert DIAGNOSIS.summary.split()[0] in text and "kernel" in text and "launch" in text


def test_english_has_no_entries() -> None:
    assert "What to do next" in real("en", "terminal") and '<html lang="en">' in real("en", "html")


@pytest.mark.parametrize("language", OTHERS)
def test_html_names_its_language_and_the_cause_as_code(language: str) -> None:
    text = real(language, "html")
    assert f'<html lang="{language}">' in text
    assert "<code>use-after-free</code></h1>" in text


def test_json_is_the_case_in_any_language() -> None:
    assert real("ko", "json") == real("en", "json")


def test_junit_stays_xml() -> None:
    assert ET.fromstring(real("es", "junit")).find(".//failure") is not None
