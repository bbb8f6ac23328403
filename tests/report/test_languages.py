"""Reports in other languages: every must-have sentence has an entry, places fit, and names stay as they are."""

from __future__ import annotations

import json
import re
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from sample_cases import DIAGNOSIS, FULL

from gpudx import causes
from gpudx.errors import UserError
from gpudx.model import Case, Evidence, Guilty
from gpudx.report import Page, render
from gpudx.report.languages import chosen, languages, spoken
from gpudx.report.languages.matching import Catalogue, Entry

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import messages

OTHERS = [one for one in languages() if one != "en"]
MUST = ("outline", "spoken", "cause", "finding")
MOST_MISSING = 0  # a new sentence comes with its entries
PLACE = re.compile(r"\{\d+\}")
FREED = (
    "Memory #3 had been freed (cuMemFree, call 12) when kernel launch was launched with it as argument 0 (float* in)."
)


def say(text: str, language: str = "ko") -> str:
    return spoken(text, language)


# ---- the files ----


@pytest.mark.parametrize("language", OTHERS)
def test_what_must_be_there_is_there(language: str) -> None:
    known = messages.entries(language)
    assert not [text for text, one in messages.messages().items() if one.kind in MUST and not known.get(text)]


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_missing_becomes_less(language: str) -> None:
    missing = len(messages.lacking(language))
    print(f"{language}: {missing} of {len(messages.messages())} sentences have no entry")
    assert missing <= MOST_MISSING, "a sentence was added or changed: give it an entry in report/languages"


@pytest.mark.parametrize("language", OTHERS)
def test_entries_are_of_sentences_that_exist_and_have_their_places(language: str) -> None:
    entries = messages.entries(language)
    assert not entries.keys() - messages.messages().keys(), "the source changed: mend or remove these"
    assert not {text for text, said in entries.items() if set(PLACE.findall(text)) != set(PLACE.findall(said))}


def test_languages_have_the_same_entries() -> None:
    first, *rest = [messages.entries(one).keys() for one in OTHERS]
    assert all(one == first for one in rest)


@pytest.mark.parametrize("language", OTHERS)
def test_every_cause_is_said(language: str) -> None:
    for cause in causes.every().values():
        for text in (cause.title, cause.refutes_if, *cause.fix):
            assert say(text, language) != text


@pytest.mark.parametrize("language", OTHERS)
def test_every_entry_is_found_for_its_own_sentence(language: str) -> None:
    """And not another one that fits, too."""
    known, lost = Catalogue.read((messages.SOURCES / "report" / "languages" / f"{language}.toml").read_text()), []
    for text, said in messages.entries(language).items():
        names = [str(11 + number) for number in range(len(set(PLACE.findall(text))))]
        made, wanted = (Entry(one, one).filled(names) if names else one for one in (text, said))
        if known.say(made) != known.join(wanted):
            lost.append((made, known.say(made)))
    assert not lost


# ---- how sentences are found ----


def test_the_extraction_writes_choices_out_and_puts_locals_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "def _told(site, n):\n"
        "    place = f' at {site.line}' if site.line else ''\n"
        "    return Finding(message=f\"Kernel {site.kernel} {'read' if n else 'wrote'} too far{place}.\")\n"
    )
    (tmp_path / "detectors").mkdir()
    (tmp_path / "detectors" / "one.py").write_text(source)
    monkeypatch.setattr(messages, "SOURCES", tmp_path)
    texts = {text for text, kind in messages._of_file(tmp_path / "detectors" / "one.py") if kind == "finding"}
    assert texts == {
        "Kernel {0} read too far at {1}.",
        "Kernel {0} read too far.",
        "Kernel {0} wrote too far at {1}.",
        "Kernel {0} wrote too far.",
    }


def test_names_numbers_and_types_stay() -> None:
    said = say(FREED)
    assert said != FREED
    for name in ("cuMemFree", "12", "kernel launch", "float* in"):
        assert name in said


def test_a_capital_a_missing_full_stop_and_a_list_are_no_other_sentence() -> None:
    assert say("The program hung in clFinish (call 7)").endswith("다")
    assert say("2 errors, 1 warning and 1 note", "es") == "2 errores, 1 aviso y 1 nota"
    assert say("No GPU API call was seen.", "es") == "No se vio ninguna llamada a una API de GPU."


def test_no_sentence_is_half_translated() -> None:
    """An entry whose place would hold English words is refused; behind a colon they may stand."""
    for text in (
        "No call returned 0x48000.",
        "Nothing wrote it",
        "No call of the program returned 0x48000.",
        "Some call would have returned 0x48000 as a handle.",
    ):
        assert say(text) == text
    assert say("refuted: it never was there") == "반증됨: it never was there"


def test_a_note_in_brackets_and_a_colon_join_what_is_known() -> None:
    words = Catalogue.read('[a]\n"the queue is dead" = "la cola murió"\n"{0} launches" = "{0} lanzamientos"')
    assert words.say("The queue is dead (CL_X, -36).") == "La cola murió (CL_X, -36)."
    assert words.say("the queue is dead: 3 launches") == "la cola murió: 3 lanzamientos"
    assert words.say("the queue is gone: 3 launches") == "the queue is gone: 3 launches"


def test_a_name_has_neither_the_end_of_a_sentence_nor_a_colon_in_it() -> None:
    words = Catalogue.read(
        '[a]\n"{0} behind the end of {1}" = "{1} -> {0}"\n"a race between {0}." = "carrera entre {0}."'
    )
    for text in ("scale wrote behind the end of memory #1.", "a race between f and g: see below."):
        assert words.say(text) == text


def test_what_a_log_said_stays() -> None:
    for text in ("out of bounds", "the device is not available", "x. The process died of SIGSEGV."):
        assert (
            say(f"line 7 of a.log: {text} (and 3 more, up to line 9)")
            == f"a.log의 7번째 줄: {text} (그리고 3개 더, 9번째 줄까지)"
        )
    assert (
        say("No call failed. (line 7 of a.log: no device was found: x)")
        == "실패한 호출이 없다. (a.log의 7번째 줄: no device was found: x)"
    )


def test_single_words_are_names() -> None:
    assert (
        Catalogue.read('[a]\n"{0} was run" = "se ejecutó {0}"\n"launch" = "lanzamiento"').say("launch was run")
        == "se ejecutó launch"
    )


def test_what_the_program_said_stays() -> None:
    for text in ("out of cheese", "Traceback (most recent call last):", "'no GPU API call was seen.'", ""):
        assert say(text) == text


def test_joined_words() -> None:
    assert "del argumento" in say("byte 4 of argument 2", "es") and "de el " not in say(FREED, "es")


def test_factors_are_said_one_by_one() -> None:
    assert say("argument 3 x argument 4 (64 x 512)", "es") == "el argumento 3 x el argumento 4 (64 x 512)"
    assert say("the work-items in x x rows (8 x 2)", "es") == "los work-items en x x rows (8 x 2)"
    assert say("rows x columns (8 x 2)", "es") == "rows x columns (8 x 2)"


def test_names_of_parameters_stay() -> None:
    given = "queue = 0x10 (queue #1), kernel = 0x20"
    assert say(f"clFinish answered CL_INVALID_VALUE: {given}", "es") == f"clFinish respondió CL_INVALID_VALUE: {given}"


@pytest.mark.parametrize("language", OTHERS)
def test_where_a_finding_was_made_is_said_behind_it(language: str) -> None:
    for place in ("clFinish, call number 7", "clFinish, call number 7, a.c:9"):
        for times in ("", " Seen 3 times."):
            said = say(f"{FREED} ({place}){times} [use-after-free]", language)
            assert "call number" not in said and "times" not in said and said.endswith("[use-after-free]"), said


def test_an_image_that_is_neither() -> None:
    said = say("the image is neither a cubin, nor PTX, nor a fat binary: it is empty", "es")
    assert said == "la imagen es algo que no es ni un cubin, ni PTX, ni un fat binary: está vacío"


def test_hostile_texts_take_no_time() -> None:
    began = time.monotonic()
    for text in (
        " (".join(["a"] * 700),
        ", call number " * 200,
        "{0} " * 700,
        "x. " * 900,
        "The process died of " * 150,
    ):
        say(text)
    assert time.monotonic() - began < 5


# ---- reports ----


def real(language: str, format: str) -> str:
    cause = causes.every()["use-after-free"]
    guilty = Guilty(api="cuda", call="cuLaunchKernel", number=20, kernel="launch", launch=3)
    told = replace(
        DIAGNOSIS,
        cause=cause.id,
        summary=FREED,
        guilty=guilty,
        victim=None,
        evidence=(Evidence("cuMemFree freed memory #3", (12,)),),
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason="",
        not_counted=(),
    )
    return render(replace(FULL, diagnosis=(told,)), format, Page(200, language=language))


@pytest.mark.parametrize("format", ["terminal", "markdown", "html", "junit", "sarif"])
def test_all_formats_say_the_same_words(format: str) -> None:
    text = real("ko", format)
    if format == "sarif":
        text = json.dumps(json.loads(text), ensure_ascii=False)
    assert bare(say(causes.every()["use-after-free"].fix[0])) in bare(text)


def bare(text: str) -> str:
    """Lines are broken at different places."""
    return "".join(text.split())


def test_english_is_as_it_was() -> None:
    for format in ("terminal", "markdown", "html", "junit", "sarif", "json"):
        assert real("en", format) == real("en", format).replace("\0", "")
    assert "What to do next" in real("en", "terminal") and '<html lang="en">' in real("en", "html")


def test_html_names_its_language_and_the_cause_as_code() -> None:
    for language in OTHERS:
        text = real(language, "html")
        assert f'<html lang="{language}">' in text
        assert "<code>use-after-free</code></h1>" in text


def test_json_is_the_case_in_any_language() -> None:
    assert real("ko", "json") == real("en", "json")


def test_junit_stays_xml() -> None:
    assert ET.fromstring(real("es", "junit")).find(".//failure") is not None


def test_verdicts_of_each_language_are_one_word_before_a_cause() -> None:
    """The page shows what follows the first word as the cause's id."""
    for language in OTHERS:
        for word in ("CONFIRMED", "LIKELY", "INCONCLUSIVE", "REFUTED"):
            first, _, cause = say(f"{word} hang", language).partition(" ")
            assert (first, cause) == (first.upper(), "hang")


def test_which_language() -> None:
    assert [chosen(text) for text in ("", "C", "ko", "ko_KR.UTF-8", "ES", "en-US")] == [
        "en",
        "en",
        "ko",
        "ko",
        "es",
        "en",
    ]
    with pytest.raises(UserError, match="choose one of en, es, ko"):
        chosen("xx")


def test_a_case_that_was_never_seen_stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    odd: Case = replace(FULL, findings=(), diagnosis=(), hypotheses=())
    for language in OTHERS:
        assert "./app --layers 4" in render(odd, "terminal", Page(120, language=language))
