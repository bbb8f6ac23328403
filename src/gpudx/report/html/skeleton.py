"""The page around the sections: the verdict, the way to each section, and the policy that keeps everything else out."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections import Counter
from dataclasses import replace
from datetime import datetime
from functools import cache
from html import escape
from importlib.resources import files

from gpudx.model import Case
from gpudx.report import Page
from gpudx.report.blocks import Outline, Section
from gpudx.report.html.parts import block, sentence
from gpudx.report.languages import spoken
from gpudx.report.safe import clean
from gpudx.report.screen import ending

MOST_DEVICES = 4
MOST_COMMAND = 200
TONES = {"bad": "✗", "unsure": "?", "good": "✓"}


def whole(made: Outline, case: Case, page: Page) -> str:
    """The document."""
    sections = _apart(made.sections)
    ids = _ids(sections)
    parts = [
        "<!doctype html>",
        f'<html lang="{page.language}">',
        _head(made),
        "<body>",
        f'<a class="skip" href="#report">{escape(spoken("Go to the report", page.language))}</a>',
        _verdict(made, case, page),
        '<div class="columns">',
        _ways(sections, ids, page),
        '<main id="report">',
        *(_section(one, name, case, page) for one, name in zip(sections, ids, strict=True)),
        "</main></div>",
        f"<footer><p>gpudx {escape(clean(case.version))}, {escape(_made(case))}</p></footer>",
        f"<script>{_file('report.js')}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _made(case: Case) -> str:
    return f"run of {clean(case.created)}"


def _head(made: Outline) -> str:
    return policy_head(f"gpudx: {made.verdict}", _file("report.css"), _file("report.js"))


def policy_head(title: str, style: str, script: str) -> str:
    """The head of a page that runs this script and style, and nothing else."""
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style></head>",
        ]
    )


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a policy names what may run (CSP level 3, section 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _verdict(made: Outline, case: Case, page: Page) -> str:
    word, _, cause = made.verdict.partition(" ")
    # "NOT CHECKED" is one word of ours; "CONFIRMED leak" names a cause. Scripts without capitals are their own capitals.
    if word != word.upper() or cause == cause.upper():
        word, cause = made.verdict, ""
    name = f" <code>{escape(cause)}</code>" if cause else ""
    mark = f'<span class="mark" aria-hidden="true">{TONES[made.tone]}</span>'
    return (
        f'<header class="{made.tone}"><p class="maker">gpudx</p>'
        f"<h1>{mark} {escape(word)}{name}</h1>\n<p>{sentence(made.headline)}</p>{_hero(case, page)}</header>"
    )


def _hero(case: Case, page: Page) -> str:
    """What was run, how it ended, where and when."""
    devices = page.drawing.devices if page.drawing else ()
    rows = {
        "Program": shorter(shlex.join(map(clean, case.command))),
        "Ended": ending(case.outcome) if case.command else "",
        "Device": "; ".join(map(clean, devices[:MOST_DEVICES])) + (" and more" if len(devices) > MOST_DEVICES else ""),
        "Date": _date(clean(case.created)),
    }
    shown = (
        f"<div><dt>{escape(spoken(key, page.language))}</dt><dd>{escape(value)}</dd></div>"
        for key, value in rows.items()
        if value
    )
    return f'<dl class="hero">{"".join(shown)}</dl>'


def shorter(text: str) -> str:
    return text if len(text) <= MOST_COMMAND else f"{text[:MOST_COMMAND]}…"


def _date(created: str) -> str:
    try:
        return (
            f"{datetime.fromisoformat(created):%Y-%m-%d %H:%M} {datetime.fromisoformat(created).tzname() or ''}".strip()
        )
    except ValueError:
        return created


def _ways(sections: tuple[Section, ...], ids: list[str], page: Page) -> str:
    links = (f'<li><a href="#{name}">{escape(one.heading)}</a></li>' for one, name in zip(sections, ids, strict=True))
    return f'<nav aria-label="{escape(spoken("Sections", page.language))}"><ul>{"".join(links)}</ul></nav>'


def _apart(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """With a number behind headings that occur more than once: each is the name of a landmark and of a link."""
    seen: Counter[str] = Counter()
    named = []
    for one in sections:
        seen[one.heading] += 1
        times = seen[one.heading]
        named.append(one if times == 1 else replace(one, heading=f"{one.heading} ({times})"))
    return tuple(named)


def _ids(sections: tuple[Section, ...]) -> list[str]:
    """Names for links, from headings; the number keeps them apart."""
    return [f"{_plain(one.heading)}-{number}" for number, one in enumerate(sections)]


def _plain(text: str) -> str:
    return re.sub(r"[^a-z]+", "-", text.lower())[:40].strip("-")


def _section(section: Section, name: str, case: Case, page: Page) -> str:
    inner = "\n".join(block(one, case, page) for one in section.blocks)
    heading = f'<h2 id="{name}">{escape(section.heading)}</h2>'
    if section.aside:
        return f'<section aria-labelledby="{name}"><details><summary>{heading}</summary>\n{inner}</details></section>'
    return f'<section aria-labelledby="{name}">{heading}\n{inner}</section>'
