"""What pictures on a canvas have in common: buttons, the canvas, a line that tells what is chosen, and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpudx.report.html.packed import data

BUTTONS = (
    ("in", "Zoom in"), ("out", "Zoom out"), ("left", "Left"), ("right", "Right"), ("all", "All"),
    ("before", "Previous"), ("after", "Next"),
)  # fmt: skip


def canvas(kind: str, label: str, told: object, legend: Sequence[tuple[str, str]], extra: Sequence[str] = ()) -> str:
    """`legend` has a class, which gives the colour, and a word for each; `extra` buttons go to a pin of that name."""
    buttons = [*BUTTONS, *((f"pin:{name}", f"Show {name}") for name in extra)]
    tools = "".join(f'<button type="button" data-do="{escape(do)}">{escape(text)}</button>' for do, text in buttons)
    keys = "".join(f'<li><i class="{name}"></i>{escape(word)}</li>' for name, word in legend)
    return (
        f'<div class="drawn" data-kind="{kind}">'
        f'<div class="tools" role="group" aria-label="{escape(label)}">{tools}</div>'
        f'<div class="scroll"><canvas tabindex="0" role="img" aria-label="{escape(label)}"></canvas></div>'
        '<p class="told" role="status"></p>'
        f'<ul class="legend">{keys}</ul>'
        "<noscript><p>This picture needs JavaScript; all else on this page does not.</p></noscript>"
        f"{data(told)}</div>"
    )
