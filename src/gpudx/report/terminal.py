"""For a terminal: calm colours, or none; readable at 80 columns."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from gpudx.model import Case
from gpudx.report import Page
from gpudx.report.blocks import Block, Bullets, Code, Outline, Paragraph, Rows, Section, Table, in_words
from gpudx.report.outline import outline

TONES = {"bad": "bold red", "unsure": "bold yellow", "good": "bold green"}
HEADING = "bold"
KEY = "cyan"
NARROWEST = 40
WIDEST = 110
GAP = 2  # columns between columns


def render(case: Case, page: Page) -> str:
    """The report as text; with colours when the page wants them."""
    return show(in_words(outline(case, language=page.language)), page)


def show(made: Outline, page: Page) -> str:
    """Any outline, in the same way."""
    console = Console(
        file=io.StringIO(),
        width=max(NARROWEST, min(page.width, WIDEST)),
        force_terminal=page.colour,
        color_system="standard" if page.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(_whole(made))
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def _whole(made: Outline) -> RenderableType:
    head = Text.assemble(("gpudx: ", ""), (made.verdict, TONES[made.tone]), overflow="fold")
    return Group(head, _indented(Text(made.headline, overflow="fold")), *map(_section, made.sections))


def _section(section: Section) -> RenderableType:
    blocks = [_indented(_block(block)) for block in section.blocks]
    return Group(Text(""), Text(section.heading, style=HEADING, overflow="fold"), *blocks)


def _indented(inner: RenderableType) -> Padding:
    return Padding(inner, (0, 0, 0, 2))


def _block(block: Block) -> RenderableType:
    if isinstance(block, Paragraph):
        return Text(block.text, overflow="fold")
    if isinstance(block, Rows):
        return _grid(((Text(key, style=KEY), Text(value, overflow="fold")) for key, value in block.rows), gap=2)
    if isinstance(block, Bullets):
        return _grid(((Text(mark), Text(item, overflow="fold")) for mark, item in _marked(block)), gap=1)
    if isinstance(block, Table):
        return _Fitting(block)
    assert isinstance(block, Code)
    return _indented(Group(*(Text(line, overflow="fold") for line in block.lines)))


def _marked(block: Bullets) -> Iterable[tuple[str, str]]:
    for number, item in enumerate(block.items, start=1):
        yield (f"{number}." if block.numbered else "-"), item


def _grid(rows: Iterable[tuple[Text, Text]], gap: int) -> Grid:
    grid = Grid.grid(padding=(0, gap, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


class _Fitting:
    """A table whose words are whole: a path is never broken. Where its longest words do not fit beside each other, each row becomes
    lines of its own."""

    def __init__(self, block: Table) -> None:
        self.block = block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = list(zip(self.block.columns, *self.block.rows, strict=True))
        least = [max(map(_longest_word, column)) for column in columns]
        spare = options.max_width - sum(least) - GAP * len(least)
        if spare >= 0:
            yield _table(self.block, _shared_out(least, [max(map(len, column)) for column in columns], spare))
            return
        for row in self.block.rows:
            named = [(name, cell) for name, cell in zip(self.block.columns, row, strict=True) if cell]
            yield _grid(((Text(name, style=KEY), Text(cell, overflow="fold")) for name, cell in named), gap=GAP)


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


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _table(block: Table, widths: list[int]) -> Grid:
    table = Grid(box=None, padding=(0, GAP, 0, 0), show_edge=False, header_style=KEY)
    for column, width in zip(block.columns, widths, strict=True):
        table.add_column(Text(column), overflow="fold", width=width)
    for row in block.rows:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    return table
