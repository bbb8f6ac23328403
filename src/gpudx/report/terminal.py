"""For a terminal: calm colours, or none; readable at 80 columns. Paths begin at the working directory, except in commands, which can
be pasted anywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gpudx.model import Case
from gpudx.report import Page, layout
from gpudx.report.blocks import Block, Bullets, Code, Outline, Paragraph, Rows, Section, Table, in_words
from gpudx.report.outline import outline
from gpudx.text.places import here

TONES = {"bad": "1;31", "unsure": "1;33", "good": "1;32"}
HEADING, KEY = "1", "36"
NARROWEST, WIDEST = 40, 110
INDENT = "  "


def render(case: Case, page: Page) -> str:
    """The report as text; with colours when the page wants them."""
    return show(in_words(outline(case, language=page.language)), page, layout.spaced_paths(case))


def show(made: Outline, page: Page, whole: Collection[str] = ()) -> str:
    """Any outline, in the same way; strings in `whole` are not broken at their spaces."""
    sheet = _Sheet(max(NARROWEST, min(page.width, WIDEST)), page.colour, whole)
    return "\n".join(line.rstrip() for line in sheet.lines(made)) + "\n"


@dataclass(frozen=True)
class _Sheet:
    width: int
    colour: bool
    whole: Collection[str]

    def lines(self, made: Outline) -> Iterator[str]:
        yield f"gpudx: {self._styled(made.verdict, TONES[made.tone])}"
        yield from self._wrapped(made.headline)
        for section in made.sections:
            yield from self._section(section)

    def _section(self, section: Section) -> Iterator[str]:
        yield ""
        yield self._styled(section.heading, HEADING)
        for block in section.blocks:
            yield from self._block(block)

    def _block(self, block: Block) -> Iterator[str]:
        if isinstance(block, Paragraph):
            yield from self._wrapped(block.text)
        elif isinstance(block, Rows):
            yield from self._named(block.rows)
        elif isinstance(block, Bullets):
            yield from self._bullets(block)
        elif isinstance(block, Table):
            yield from self._table(block)
        else:
            assert isinstance(block, Code)
            yield from (f"{INDENT}{INDENT}{line}" for line in block.lines)

    def _bullets(self, block: Bullets) -> Iterator[str]:
        widest = len(str(len(block.items))) + 1 if block.numbered else 1
        for number, item in enumerate(block.items, start=1):
            mark = f"{number}." if block.numbered else "-"
            yield from self._wrapped(item, f"{INDENT}{mark:<{widest}} ")

    def _named(self, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
        near = [(name, here(value)) for name, value in rows]
        for name, value in layout.named(near, self.width - len(INDENT), self.whole):
            yield f"{INDENT}{self._styled(name, KEY)}{value}"

    def _table(self, block: Table) -> Iterator[str]:
        lines = layout.table(block.columns, block.rows, self.width - len(INDENT))
        if lines is not None:
            yield from (f"{INDENT}{line if number else self._styled(line, KEY)}" for number, line in enumerate(lines))
            return
        for row in block.rows:
            yield from self._named(tuple((name, cell) for name, cell in zip(block.columns, row, strict=True) if cell))

    def _wrapped(self, text: str, first: str = INDENT) -> list[str]:
        return layout.wrapped(here(text), self.width, first, whole=self.whole)

    def _styled(self, text: str, style: str) -> str:
        return f"\033[{style}m{text}\033[0m" if self.colour and text.strip() else text
