"""How often each experiment failed: the observed rate, and the rates that fit. Static, so that it needs no script."""

from __future__ import annotations

from html import escape

from gpudx.model import Case, Observation
from gpudx.report import Page
from gpudx.report.safe import clean

WIDTH, HEIGHT, LABEL = 620, 24, 170
SCALE = WIDTH - LABEL - 30
MOST_LABEL = 24


def draw(case: Case, page: Page) -> str:
    """A line per experiment that was run."""
    seen = [one for one in case.observations if one.runs]
    height = HEIGHT * (len(seen) + 1)
    lines = "".join(_line(one, HEIGHT * number) for number, one in enumerate(seen))
    title = f"Rates of failure in {len(seen)} experiments; the table has the numbers"
    return (
        f'<svg class="rates" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{lines}{_axis(height)}</svg>"
    )


def _line(seen: Observation, top: int) -> str:
    low, high = LABEL + SCALE * seen.low, LABEL + SCALE * seen.high
    at = LABEL + SCALE * seen.reproduced / seen.runs
    name = clean(seen.experiment)
    short = name if len(name) <= MOST_LABEL else name[: MOST_LABEL - 1] + "…"
    return (
        f'<text x="{LABEL - 10}" y="{top + 16}" text-anchor="end">{escape(short)}</text>'
        f'<rect class="track" x="{LABEL}" y="{top + 6}" width="{SCALE}" height="12" rx="2"/>'
        f'<rect class="fits" x="{low:.1f}" y="{top + 6}" width="{max(high - low, 2):.1f}" height="12" rx="2"/>'
        f'<rect class="rate" x="{at - 2:.1f}" y="{top + 3}" width="4" height="18"/>'
    )


def _axis(height: int) -> str:
    ticks = ((LABEL + SCALE * part / 4, f"{25 * part}%") for part in range(5))
    return "".join(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{text}</text>' for x, text in ticks)
