"""What a report may fill where it is shown: the terminal's width and colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudx.report import Page

if TYPE_CHECKING:
    from gpudx.model import Case

PIPE = 100  # columns where the output is no terminal


def page_here() -> Page:
    """What can be shown on stdout."""
    return page_of(sys.stdout.fileno()) if sys.stdout.isatty() else Page(PIPE)


def first_screen(case: Case, page: Page, less: int = 0) -> str:
    """The first screen of a case, with lines of kernels that are in no file; so many lines less, where others follow it."""
    from gpudx.figures import kernel_text
    from gpudx.report.screen import MOST_ROWS, render

    return render(case, page, kernel_text=kernel_text.of, rows=MOST_ROWS - less)


def result(case: Case, as_json: bool) -> str:
    """What a command that made a case prints on stdout: its first screen, or all of it as JSON."""
    if not as_json:
        return first_screen(case, page_here())
    from gpudx.report import render

    return render(case, "json")


def paragraph(text: str, first: str = "  ") -> None:
    """Sentences on stdout, as wide as it is. `first` begins the first line, and the others have as many spaces."""
    from gpudx.report.layout import wrapped
    from gpudx.report.safe import clean

    print("\n".join(wrapped(clean(text), page_here().width, first)))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """An aligned table on stdout; one row after the other, where it is too wide."""
    from gpudx.report.layout import table
    from gpudx.report.safe import clean

    shown = [[clean(cell) for cell in row] for row in rows]
    for line in table(columns, shown, page_here().width - 2) or ["  ".join(row) for row in (columns, *shown)]:
        print(f"  {line}")


def page_of(descriptor: int) -> Page:
    """What can be shown on an open file: the terminal's width and colours, or 100 columns and none."""
    try:
        width = os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return Page(PIPE)
    return Page(width, "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb")
