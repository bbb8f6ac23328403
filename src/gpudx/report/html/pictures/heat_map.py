"""Tests against conditions: a row for each test that failed, a colour and k/n in each cell. Static, so that it needs no script.

A table, so that it is read aloud, searched and copied as one. Ten thousand tests that pass, and those that only follow another, are a
line below it each.
"""

from __future__ import annotations

from html import escape

from gpudx.model import Case
from gpudx.model.flake import Cell, FlakyTest
from gpudx.report import Page
from gpudx.report.flake import heads, unlisted
from gpudx.report.html.pictures.words import HEADS, HEAT, listed
from gpudx.report.languages import spoken
from gpudx.report.safe import clean

MOST_LABEL = 120
STEPS = 4  # colours beside that of "never"


def draw(case: Case, page: Page) -> str:
    """The table in a frame that scrolls, and what its colours mean."""
    flake = case.flake
    assert flake is not None
    names = [cell.condition for cell in flake.conditions]
    shown, more = heads(flake), unlisted(flake)
    columns = (*listed(HEADS, page.language), *names)
    titles = "".join(f'<th role="columnheader" scope="col">{escape(one)}</th>' for one in columns)
    rows = "".join(_row(test, names, page.language) for test in shown)
    label = escape(f"Heat map: {len(shown):,} tests against {len(names)} conditions")
    keys = "".join(
        f'<li><i class="h{step}"></i>{escape(word)}</li>' for step, word in enumerate(listed(HEAT, page.language))
    )
    rest = "".join(f"<li>{escape(clean(line))}</li>" for line in listed(more, page.language))
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table class="heat" role="table">'
        f'<thead role="rowgroup"><tr role="row">{titles}</tr></thead><tbody role="rowgroup">{rows}</tbody></table></div>'
        f'{f"<ul>{rest}</ul>" if rest else ""}<ul class="legend">{keys}</ul>'
    )


def _row(test: FlakyTest, names: list[str], language: str) -> str:
    cells = {cell.condition: cell for cell in test.cells}
    inner = "".join(_cell(name, cells.get(name)) for name in names)
    head, verdict = (escape(spoken(text, language)) for text in (HEADS[1], test.kind))
    kind = f'<td role="cell" data-head="{head}">{verdict}</td>'
    return (
        f'<tr role="row"><th role="rowheader" scope="row">{escape(_short(clean(test.name)))}</th>{kind}{inner}</tr>\n'
    )


def _cell(name: str, cell: Cell | None) -> str:
    head = f'<td role="cell" data-head="{escape(name)}"'
    if cell is None or not cell.runs:
        return f"{head}></td>"
    fits = escape(f"failure rate: {cell.low:.0%} to {cell.high:.0%}")
    return f'{head} class="h{step(cell)}" title="{fits}">{cell.failures}/{cell.runs}</td>'


def step(cell: Cell) -> int:
    """0 is never; the others are quarters."""
    return -(-STEPS * cell.failures // cell.runs)


def _short(name: str) -> str:
    """Names of tests differ at their end."""
    return name if len(name) <= MOST_LABEL else "…" + name[1 - MOST_LABEL :]
