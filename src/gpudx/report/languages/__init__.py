"""The skeleton of a report in other languages: headings, statuses, titles of causes and what to do about them.

A language is one file here, `ko.toml`, whose keys are texts of the sources, word for word. Adding a file adds a language. Sentences
with names and numbers in them stay English, and so does any text without an entry: a new detector needs no translation.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files

from gpudx.errors import UserError
from gpudx.report.blocks import Block, Bullets, Outline, Paragraph, Picture, Rows, Section, Table

ENGLISH = "en"
# Values beside these names and below these heads belong to the program: a kernel may be called "launch".
THEIRS = {
    "kernel",
    "value",
    "source",
    "command",
    "fingerprint",
    "cause",
    "test",
    "type",
    "name",
    "declared",
    "arch",
    "GOOD",
    "BAD",
}


@cache
def languages() -> tuple[str, ...]:
    """All that can be requested."""
    found = (one.name for one in files(__package__).iterdir())
    return (ENGLISH, *sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def chosen(asked: str) -> str:
    """The language for "ko", "ko_KR.UTF-8" or "ES"; English for "" and "C". UserError when there is none."""
    short = asked.replace("-", "_").partition("_")[0].partition(".")[0].lower()
    if short in ("", "c", "posix"):
        return ENGLISH
    if short not in languages():
        raise UserError(f"There is no language {asked!r} for reports: choose one of {', '.join(languages())}.")
    return short


@cache
def entries(language: str) -> dict[str, str]:
    """English text -> text in a language."""
    if language == ENGLISH:
        return {}
    tables = tomllib.loads(files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))
    return {text: said for table in tables.values() for text, said in table.items()}


def spoken(text: str, language: str) -> str:
    """A text in a language, or the text itself where the language has no entry for it."""
    known = entries(language)
    if text.isupper():
        return known.get(text) or known.get(text.lower(), text).upper()
    return known.get(text, text)


def spoken_head(text: str, mark: str, language: str) -> str:
    """The same for a text of ours with a detail behind the mark: "CONFIRMED hang", "Findings: 2 errors"."""
    whole = spoken(text, language)
    if whole != text:
        return whole
    head, found, detail = text.partition(mark)
    return spoken(head, language) + found + detail


def translated(made: Outline, language: str) -> Outline:
    """The same report in a language."""
    if language == ENGLISH:
        return made
    sections = tuple(_section(one, language) for one in made.sections)
    verdict = spoken_head(made.verdict, " ", language)
    return replace(made, verdict=verdict, headline=spoken(made.headline, language), sections=sections)


def _section(section: Section, language: str) -> Section:
    blocks = tuple(_block(one, language) for one in section.blocks)
    return replace(section, heading=spoken_head(section.heading, ": ", language), blocks=blocks)


def _block(block: Block, language: str) -> Block:
    if isinstance(block, Paragraph):
        return replace(block, text=spoken(block.text, language))
    if isinstance(block, Bullets):
        return replace(block, items=tuple(spoken(one, language) for one in block.items))
    if isinstance(block, Rows):
        return replace(block, rows=tuple((spoken(name, language), value) for name, value in block.rows))
    if isinstance(block, Table):
        return _table(block, language)
    return replace(block, caption=spoken(block.caption, language)) if isinstance(block, Picture) else block


def _table(table: Table, language: str) -> Table:
    heads = table.columns
    rows = (tuple(_cell(head, cell, language) for head, cell in zip(heads, row, strict=False)) for row in table.rows)
    return Table(tuple(spoken(one, language) for one in heads), tuple(rows))


def _cell(head: str, text: str, language: str) -> str:
    return text if head in THEIRS else spoken(text, language)
