"""Words inside pictures, in the language of the report. The script gets them with its data, and draws none of its own.

Each is a label that stands beside a name or a number, so that no language has to bend it: "made by call 12".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudx.model.drawing import ARGUMENTS, BLOCKS, KINDS, NEAR, STATES
from gpudx.report.languages import spoken

BUTTONS = {
    "in": "Zoom in", "out": "Zoom out", "left": "Left", "right": "Right", "all": "All", "before": "Previous", "after": "Next",
    "pin:guilty": "Show guilty", "pin:victim": "Show victim", "pin:address": "Show address",
}  # fmt: skip
ROLES = {"guilty": "guilty", "victim": "victim", "evidence": "evidence"}
OF_CALLS = {"call": "call", "at": "at", "took": "took", **ROLES}
OF_BLOCKS = {
    "at": "at", "bytes": "bytes", "made": "made by call", "freed": "freed by call", "guarded": "guarded", "parts": "sub-buffers",
}  # fmt: skip
LEGENDS = ("failed or in flight", "other calls of the evidence", "guard", "address")
HEAT = ("never failed", "up to a quarter", "up to half", "up to three quarters", "more")
HEADS = ("test", "verdict")
FAILED = "This picture could not be drawn:"
NO_SCRIPT = "This picture needs JavaScript; the rest of this page does not."


def every() -> Iterator[str]:
    """All of them, for those who translate."""
    for table in (BUTTONS, OF_CALLS, OF_BLOCKS):
        yield from table.values()
    for words in (KINDS, STATES, BLOCKS, NEAR, ARGUMENTS, LEGENDS, HEAT, HEADS, (FAILED, NO_SCRIPT)):
        yield from words


def said(words: dict[str, str], language: str) -> dict[str, str]:
    return {name: spoken(word, language) for name, word in words.items()}


def listed(words: Iterable[str], language: str) -> tuple[str, ...]:
    return tuple(spoken(word, language) for word in words)
