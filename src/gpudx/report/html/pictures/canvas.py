"""What pictures on a canvas have in common: buttons, the canvas, a line that tells what is chosen, and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpudx.report.html.packed import data
from gpudx.report.html.pictures.words import BUTTONS, FAILED, NO_SCRIPT
from gpudx.report.languages import spoken

TOP, HIGH, LOW, MANY, BELOW = 46, 26, 15, 14, 8


def canvas(
    kind: str,
    label: str,
    told: object,
    legend: Sequence[tuple[str, str]],
    language: str,
    pins: Sequence[str],
    lanes: int,
) -> str:
    """`legend` has a class, which gives the colour, and a word for each; those of `pins` have a button that goes there. `lanes` give
    the height, so that nothing moves when the script draws."""
    shown = {do: text for do, text in BUTTONS.items() if not do.startswith("pin:") or do[4:] in pins}
    tools = "".join(
        f'<button type="button" data-do="{do}">{_said(text, language)}</button>' for do, text in shown.items()
    )
    keys = "".join(f'<li><i class="{name}"></i>{_said(word, language)}</li>' for name, word in legend)
    return (
        f'<div class="drawn" data-kind="{kind}" data-failed="{_said(FAILED, language)}">'
        f'<div class="tools" role="group" aria-label="{escape(label)}">{tools}</div>'
        f'<div class="scroll"><canvas height="{_height(lanes)}" tabindex="0" role="img" aria-label="{escape(label)}"></canvas></div>'
        '<p class="told" role="status"></p>'
        f'<ul class="legend">{keys}</ul>'
        f"<noscript><p>{_said(NO_SCRIPT, language)}</p></noscript>"
        f"{data(told)}</div>"
    )


def _height(lanes: int) -> int:
    """In pixels, as Picture in report.js has it."""
    return TOP + lanes * (LOW if lanes > MANY else HIGH) + BELOW


def _said(text: str, language: str) -> str:
    return escape(spoken(text, language))
