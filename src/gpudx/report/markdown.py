"""GitHub-flavoured Markdown, to paste into an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudx.model import Case
from gpudx.report import Page
from gpudx.report.blocks import Block, Bullets, Code, Outline, Paragraph, Rows, Section, Table
from gpudx.report.outline import outline

SPECIAL = re.compile(r"([\\`*_{}\[\]|~$#])")
REFERENCE = re.compile(r"(#(?=\d)|@(?=\w))")  # "#7" and "@name" become links on GitHub even when escaped
STARTS_BLOCK = re.compile(r"^(\s*)(\d+(?=[.)])|[-+=](?=\s|[-=]|$))")
TABLE_HEAD = ("", "")


def render(case: Case, page: Page) -> str:
    """The report as Markdown."""
    return show(outline(case))


def show(made: Outline) -> str:
    """Any outline, in the same way."""
    parts = [f"# gpudx: {escape(made.verdict)}", f"**{escape(made.headline)}**", *map(_section, made.sections)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """`text` as Markdown that shows exactly it: no markup, no HTML, no links, no mentions."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marked = SPECIAL.sub(r"\\\1", plain)
    unlinked = REFERENCE.sub(r"\1<!-- -->", marked).replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
    return STARTS_BLOCK.sub(lambda match: f"{match[1]}{_entity(match[2])}", unlinked)


def _entity(text: str) -> str:
    return "".join(f"&#{ord(char)};" for char in text)


def _section(section: Section) -> str:
    return "\n\n".join([f"## {escape(section.heading)}", *map(_block, section.blocks)])


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return escape(block.text)
    if isinstance(block, Rows):
        return _table(TABLE_HEAD, block.rows)
    if isinstance(block, Bullets):
        return "\n".join(f"{i}. {escape(x)}" if block.numbered else f"- {escape(x)}" for i, x in _numbered(block.items))
    if isinstance(block, Table):
        return _table(block.columns, block.rows)
    return _code(block)


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
