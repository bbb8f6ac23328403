"""The HTML report as text: the outline's words, nothing from elsewhere, and nothing that a name could become."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import html_kit
import pytest
from sample_cases import EMPTY, FULL, PASSED

from gpudx.figures import draw
from gpudx.model import Case
from gpudx.report import Page, render
from gpudx.report.blocks import Bullets, Code, Paragraph, Picture, Rows, Table
from gpudx.report.html.packed import data
from gpudx.report.html.parts import link
from gpudx.report.outline import outline

VOID = {"meta", "img", "br", "link", "input", "rect"}


class Reader(HTMLParser):
    """What a browser would make of it: tags with their attributes, text by tag, and whether all tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, *tags: str) -> str:
        return "".join(text for tag, text in self.texts if tag in tags)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, schema: str) -> Case:
    return html_kit.with_trace(tmp_path_factory.mktemp("case"), schema)


def words(case: Case) -> list[str]:
    """Every text of the outline."""
    found = []
    for section in outline(case, draw(case)).sections:
        found.append(section.heading)
        for block in section.blocks:
            if isinstance(block, Paragraph):
                found.append(block.text)
            elif isinstance(block, Bullets):
                found += block.items
            elif isinstance(block, Code):
                found += block.lines
            elif isinstance(block, Picture):
                found.append(block.caption)
            elif isinstance(block, Rows | Table):
                found += [cell for row in block.rows for cell in row]
    return found


@pytest.mark.parametrize("which", ["traced", "hostile", "full", "passed", "empty"])
def test_it_says_what_the_outline_says(case: Case, which: str) -> None:
    told = {"traced": case, "hostile": html_kit.hostile(case), "full": FULL, "passed": PASSED, "empty": EMPTY}[which]
    read = Reader(html_kit.html(told))
    assert not read.open
    shown = "".join(text for tag, text in read.texts if tag not in ("script", "style", "title", "noscript")).replace("`", "")
    for text in (*words(told), outline(told).headline):  # what is in backquotes is code
        assert text.replace("`", "") in shown, text


def test_only_our_script_and_style_may_run(case: Case) -> None:
    read = Reader(html_kit.html(html_kit.hostile(case)))
    policy = next(a["content"] for t, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy and policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    bodies = re.findall(r"<(script|style)>(.*?)</\1>", html_kit.html(case), re.S)
    assert [kind for kind, _ in bodies] == ["style", "script"]
    for _, text in bodies:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    for tag, attributes in read.tags:
        assert not any(name.startswith("on") or name in ("style", "src") for name in attributes), (tag, attributes)
        assert tag not in ("iframe", "object", "embed", "form", "link", "base", "img")
        if tag == "script":
            assert attributes in ({}, {"type": "application/json"})


def test_links_lead_to_files_of_the_case_or_nowhere(case: Case) -> None:
    read = Reader(html_kit.html(html_kit.hostile(case)))
    targets = [a["href"] or "" for tag, a in read.tags if tag == "a"]
    assert all(one.startswith(("#", "./")) for one in targets)
    assert "./traces/100.gdx" in targets
    ids = {a.get("id") for _, a in read.tags}
    assert all(one[1:] in ids for one in targets if one.startswith("#"))


@pytest.mark.parametrize(
    ("file", "base", "address"),
    [
        ("traces/1.gdx", ".", "./traces/1.gdx"),
        ("a b#?.txt", "../case", "./../case/a%20b%23%3F.txt"),
        ("javascript:alert(1)", ".", "./javascript%3Aalert%281%29"),
        ("/etc/passwd", ".", ""),
        ("../../x", ".", ""),
        ("", ".", ""),
        ("x", None, ""),
    ],
)
def test_links(file: str, base: str | None, address: str) -> None:
    assert link(file, Page(files=base)) == address


def test_data_cannot_end_their_block() -> None:
    inside = data({"x": html_kit.EVIL + "<!-- ]]> \u2028"})
    body = inside.removeprefix('<script type="application/json">').removesuffix("</script>")
    assert not re.search("[<>&\u2028]", body)
    assert json.loads(body)["x"] == html_kit.EVIL + "<!-- ]]> \u2028"


def columns(text: str) -> list[dict[str, Any]]:
    return [json.loads(one) for one in re.findall(r'<script type="application/json">(.*?)</script>', text)]


def test_columns_come_back(case: Case) -> None:
    told, _ = columns(html_kit.html(case))
    (line,) = draw(case).timelines
    width, packed = told["columns"]["call"]
    planes = zlib.decompress(base64.b64decode(packed))
    count = len(planes) // width
    assert bytes(planes[k * count + i] for i in range(count) for k in range(width)) == line.columns["call"].data


def test_names_in_the_data_are_cleaned(tmp_path: Path, schema: str) -> None:
    told, _ = columns(html_kit.html(html_kit.with_trace(tmp_path, schema, name=html_kit.EVIL)))
    (name,) = [one for one in told["names"] if "script" in one]
    assert "\x1b" not in name and "\u202e" not in name and len(name) < 5000


def test_a_case_without_traces_is_still_told() -> None:
    text = render(FULL, "html", Page(drawing=draw(FULL)))
    assert "When it happened" in text and "Process 100 is not drawn" in text
    assert "When it happened" not in render(FULL, "html")


def test_sections_of_one_heading_have_names_of_their_own(case: Case) -> None:
    """Each is a landmark of the page, and a link in its contents."""
    other = replace(case.diagnosis[0], cause="leak", status="confirmed")
    text = html_kit.html(replace(case, diagnosis=(case.diagnosis[0], other, other)))
    headings = re.findall(r"<h2 [^>]*>([^<]*)", text)
    assert len(set(headings)) == len(headings)
    assert [one for one in headings if "leak" in one] == [f"Another cause: leak (confirmed){n}" for n in ("", " (2)")]
