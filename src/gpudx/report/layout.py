"""Lines of a given width for a terminal. Words stay whole however long they are, and so do commands in backquotes and paths that the
caller names: what is broken cannot be pasted or clicked. Short expressions in backquotes are not broken either."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from gpudx.model import Case
from gpudx.report.safe import clean

COMMAND = re.compile(r"`(?:gpudx|pip|apt|sudo|git) [^`]*`")
QUOTED = re.compile(r"`[^`\n]*`")
SHORT_CODE = 32  # columns of an expression in backquotes that is not broken
PATH = re.compile(r"(?<![^\s(])[^\s()`]*/[^\s()`]*")  # outside of commands in backquotes
GLUE = "\ue000"  # in place of a space that must not end a line; text from programs never has it (safe.HIDDEN)
GAP = 2  # columns between the columns of a table
WIDEST_KEY = 24


def cells(text: str) -> int:
    """Columns that a terminal needs for it."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    return 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1


def height(lines: Iterable[str], width: int) -> int:
    """Rows of a terminal that the lines take: it breaks those that are too long."""
    return sum(max(1, -(-cells(line) // width)) for line in lines)


def wrapped(text: str, width: int, first: str = "", rest: str | None = None, whole: Iterable[str] = ()) -> list[str]:
    """`first` begins the first line and `rest`, or as many spaces, the others; strings in `whole` are not broken at their spaces."""
    lines, line, used = [], first, cells(first)
    lead = " " * used if rest is None else rest
    begun = False
    for word in _glued(text, whole).split():
        if begun and used + 1 + cells(word) > width:
            lines.append(line)
            line, used, begun = lead, cells(lead), False
        line += f" {word}" if begun else word
        used += cells(word) + begun
        begun = True
    return [one.replace(GLUE, " ") for one in (*lines, line)] if begun else []


def _glued(text: str, whole: Iterable[str]) -> str:
    text = QUOTED.sub(lambda found: found[0].replace(" ", GLUE) if _stays_whole(found[0]) else found[0], text)
    for one in sorted((one for one in whole if " " in one), key=len, reverse=True):
        text = text.replace(one, one.replace(" ", GLUE))
    return text


def _stays_whole(quoted: str) -> bool:
    return cells(quoted) <= SHORT_CODE or COMMAND.fullmatch(quoted) is not None


def shortened(text: str, room: int) -> str:
    """Text whose paths are no longer than `room`: those that are lose their first folders."""
    return PATH.sub(lambda found: _shortened(found[0], room), text)


def _shortened(path: str, room: int) -> str:
    ends = (f".../{path[at + 1 :]}" for at, char in enumerate(path) if char == "/")
    return path if cells(path) <= room else next((one for one in ends if cells(one) <= room), path)


def named(rows: Sequence[tuple[str, str]], width: int, whole: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Names, padded, each with the first line of its value; then "" with the others. A long name has a line of its own."""
    column = max((cells(name) for name, _ in rows if cells(name) <= WIDEST_KEY), default=0)
    for name, value in rows:
        lines = wrapped(value, max(1, width - column - GAP), whole=whole)
        if cells(name) > WIDEST_KEY or not lines:
            yield name, ""
        else:
            yield padded(name, column + GAP), lines.pop(0)
        yield from ((" " * (column + GAP), line) for line in lines)


def padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str] | None:
    """Aligned columns, the first line their names; None where their longest words do not fit beside each other."""
    every = [columns, *rows]
    by_column = list(zip(*every, strict=True))
    least = [max(_longest_word(cell) for cell in column) for column in by_column]
    spare = width - sum(least) - GAP * (len(least) - 1)
    if spare < 0:
        return None
    widths = _shared_out(least, [max(map(cells, column)) for column in by_column], spare)
    return [line for row in every for line in _row(row, widths)]


def _row(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    made = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(1, *map(len, made))):
        parts = [lines[number] if number < len(lines) else "" for lines in made]
        yield (" " * GAP).join(padded(part, width) for part, width in zip(parts, widths, strict=True)).rstrip()


def _longest_word(text: str) -> int:
    return max(map(cells, text.split()), default=0)


def _shared_out(least: list[int], most: list[int], spare: int) -> list[int]:
    """The widths, when what is spare goes to the columns that lack most, column by column."""
    widths = list(least)
    while spare > 0 and (lacking := [at for at, width in enumerate(widths) if width < most[at]]):
        part = max(1, spare // len(lacking))
        for at in lacking[:spare]:
            more = min(part, most[at] - widths[at])
            widths[at] += more
            spare -= more
    return widths


def spaced_paths(case: Case) -> set[str]:
    """Paths of the program and the case that have spaces, for `whole`."""
    sites = [*(site for one in case.diagnosis for site in (one.guilty, one.root)), *(one.site for one in case.findings)]
    sources = [site.source for site in sites if site and site.source]
    return {clean(one) for one in (case.directory, *case.command, *sources) if " " in one and "/" in one}
