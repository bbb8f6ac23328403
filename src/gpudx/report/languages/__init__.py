"""Reports in other languages than English: an outline in, the same outline in another language out.

A language is a file here, `ko.toml`: sentences as the sources make them, with numbered places, and what they are in it. Adding a
file adds a language. Sentences are made in English everywhere else; what no entry fits stays as it is. Names, numbers, paths, code
and the words of the program are places, never entries. Why it is done here and not where sentences are made:
docs/decisions/014-languages.md.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files

from gpudx.errors import UserError
from gpudx.report.blocks import Block, Bullets, Outline, Paragraph, Picture, Rows, Section, Table
from gpudx.report.languages.matching import Catalogue, sentences

__all__ = ["chosen", "languages", "sentences", "spoken", "translated"]

ENGLISH = "en"
# What stands beside these names, and below these heads, is the program's, not ours.
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
    """All that can be asked for."""
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
def _catalogue(language: str) -> Catalogue:
    return Catalogue.read(files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))


def spoken(text: str, language: str) -> str:
    """One text of ours in a language."""
    return text if language == ENGLISH else _catalogue(language).say(text)


def translated(made: Outline, language: str) -> Outline:
    """The same report in a language."""
    if language == ENGLISH:
        return made
    words = _catalogue(language)
    sections = tuple(_section(one, words) for one in made.sections)
    return replace(made, verdict=words.say(made.verdict), headline=words.say(made.headline), sections=sections)


def _section(section: Section, words: Catalogue) -> Section:
    return replace(section, heading=words.say(section.heading), blocks=tuple(_block(b, words) for b in section.blocks))


def _block(block: Block, words: Catalogue) -> Block:
    if isinstance(block, Paragraph):
        return replace(block, text=words.say(block.text))
    if isinstance(block, Bullets):
        return replace(block, items=tuple(map(words.say, block.items)))
    if isinstance(block, Rows):
        return replace(block, rows=tuple((words.say(key), _value(key, value, words)) for key, value in block.rows))
    if isinstance(block, Table):
        return _table(block, words)
    return replace(block, caption=words.say(block.caption)) if isinstance(block, Picture) else block


def _value(name: str, text: str, words: Catalogue) -> str:
    return text if name in THEIRS else words.say_part(text)


def _table(table: Table, words: Catalogue) -> Table:
    rows = (
        tuple(_cell(head, cell, words) for head, cell in zip(table.columns, row, strict=False)) for row in table.rows
    )
    return Table(tuple(map(words.say, table.columns)), tuple(rows))


def _cell(head: str, text: str, words: Catalogue) -> str:
    return text if head in THEIRS else words.say(text)
