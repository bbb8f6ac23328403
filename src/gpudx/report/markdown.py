"""GitHub-flavoured Markdown, to paste into an issue: the story first, the rest folded away, all of it within what an issue takes.

An issue takes 65,536 characters. What does not fit is left out from the end, and this is said.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable

from gpudx.model import Case
from gpudx.report import Page
from gpudx.report.blocks import Block, Bullets, Code, Outline, Paragraph, Rows, Section, Table, in_words
from gpudx.report.languages import spoken
from gpudx.report.outline import outline
from gpudx.report.safe import shorten

DRAWS = True
MOST_BYTES = 60_000
ROOM_TO_SAY = 400  # for the words on what was left out
MOST_HEADLINE = 3000
SPECIAL = re.compile(r"([\\`*_{}\[\]|~$#])")
REFERENCE = re.compile(r"(#(?=\d)|@(?=\w))")  # "#7" and "@name" become links on GitHub even when escaped
STARTS_BLOCK = re.compile(r"^(\s*)(\d+(?=[.)])|[-+=](?=\s|[-=]|$))")
TABLE_HEAD = ("", "")
TABLE_LINES = 2  # that come before the rows
CUT = "(Cut here, to fit into an issue.)"


def render(case: Case, page: Page) -> str:
    """The report as Markdown."""
    return show(in_words(outline(case, page.drawing, page.language)), page.language)


def show(made: Outline, language: str = "en") -> str:
    """Any outline, in the same way."""
    headline = escape(shorten(made.headline, MOST_HEADLINE))
    parts, left_out = [f"# gpudx: {escape(made.verdict)}", f"**{headline}**"], []
    for section in made.sections:
        room = MOST_BYTES - ROOM_TO_SAY - _bytes(parts)
        text = _section(section, room, language)
        if text:
            parts.append(text)
        else:
            left_out.append(section.heading)
    if left_out:
        names = shorten("; ".join(left_out), ROOM_TO_SAY // 4)
        parts.append(escape(f"Left out, to fit into an issue: {names}."))
    return "\n\n".join(parts) + "\n"


def _bytes(parts: list[str]) -> int:
    return sum(len(part.encode()) + 2 for part in parts)


def escape(text: str) -> str:
    """`text` as Markdown that shows exactly it: no markup, no HTML, no links, no mentions."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marked = SPECIAL.sub(r"\\\1", plain)
    unlinked = REFERENCE.sub(r"\1<!-- -->", marked).replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
    return STARTS_BLOCK.sub(lambda match: f"{match[1]}{_entity(match[2])}", unlinked)


def _entity(text: str) -> str:
    return "".join(f"&#{ord(char)};" for char in text)


def _section(section: Section, room: int, language: str) -> str:
    """The section, cut after the last of its parts that there is room for; "" if there is none."""
    head, tail = [f"## {escape(section.heading)}"], []
    if section.aside:
        head, tail = [f"<details><summary>{html.escape(section.heading)}</summary>"], ["</details>"]
    said = spoken(CUT, language)
    kept = _fitting(section.blocks, room - _bytes([*head, *tail, said]))
    cut = [said] if kept != [_block(one) for one in section.blocks] else []
    return "\n\n".join([*head, *kept, *cut, *tail]) if kept else ""


def _fitting(blocks: tuple[Block, ...], room: int) -> list[str]:
    """The blocks that fit, and the beginning of the first that does not."""
    kept: list[str] = []
    for block in blocks:
        text = _block(block)
        if _bytes([*kept, text]) > room:
            begun = _beginning(block, text, room - _bytes(kept))
            return [*kept, begun] if begun else kept
        kept.append(text)
    return kept


def _beginning(block: Block, text: str, room: int) -> str:
    """As many items or rows as there is room for."""
    lines = text.split("\n") if isinstance(block, Bullets | Rows | Table) else []
    ends = itertools.accumulate(len(line.encode()) + 1 for line in lines)
    kept = [line for line, end in zip(lines, ends, strict=True) if end < room]
    return "\n".join(kept) if len(kept) > (0 if isinstance(block, Bullets) else TABLE_LINES) else ""


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return escape(block.text)
    if isinstance(block, Rows):
        return _table(TABLE_HEAD, block.rows)
    if isinstance(block, Bullets):
        return "\n".join(f"{i}. {escape(x)}" if block.numbered else f"- {escape(x)}" for i, x in _numbered(block.items))
    if isinstance(block, Table):
        return _table(block.columns, block.rows)
    return _code(block) if isinstance(block, Code) else ""


def _numbered(items: Iterable[str]) -> Iterable[tuple[int, str]]:
    return enumerate(items, start=1)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns)]
    cells = [" | ".join(line) for line in lines] + [" | ".join(map(escape, row)) for row in rows]
    return "\n".join(f"| {line} |" for line in cells)


def _code(block: Code) -> str:
    """A fence longer than any run of backticks inside."""
    runs = [len(run) for line in block.lines for run in re.findall(r"`+", line)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return "\n".join([f"{fence}text", *block.lines, fence])
