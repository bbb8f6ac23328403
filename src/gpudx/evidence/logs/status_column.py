"""Lists of results whose marks are no words: NG, KO, EE or a cross, in the column in which other lines have OK or a tick.

A mark is read by its neighbours: it counts as "not right" only where a line nearby has the mark for "right" in the same column. What the
mark means is the program's own secret, so the line is repeated, and nothing is blamed. Crosses also stand in tables of features: they
count only with the time that a test took, or a number of failures nearby.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "status-column"
GENERIC = 3
MARKS = (" NG", "NG ", "[NG]", " KO", "KO ", "[KO]", " EE", "EE ", "[EE]", "NOK", " BAD", "BAD ", "[BAD]", "✗", "✘", "✖", "❌")
MOST_READ = 4000
NEAR, MOST_WORDS, LONGEST = 12, 30, 120
WRONG, CROSSES = frozenset(("NG", "KO", "EE", "NOK", "BAD")), frozenset("✗✘✖❌")
RIGHT, TICKS = frozenset(("OK", "PASS", "PASSED", "GOOD")), frozenset("✓✔✅√")
_FRAME = "[](){}<>:|.,;*-=\ufe0f"
_TOOK = re.compile(r"\(?\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|sec|seconds)\b\)?")
_FAILING = re.compile(r"\b[1-9]\d{0,6} (?:failing|failed|failures?)\b|\bfailed\W{1,3}[1-9]", re.IGNORECASE)


def read(near: Near) -> Iterator[Event]:
    words = _words(near.text)
    at = next((place for place, word in enumerate(words) if word in WRONG or word in CROSSES), None)
    if at is None or not 2 <= len(words) <= MOST_WORDS:
        return
    mark = words[at]
    others = [line[:LONGEST] for line in (*near.before(NEAR), *near.after(NEAR))]
    if mark in CROSSES and not (_TOOK.search(near.text) or any(map(_FAILING.search, others))):
        return
    right = next(filter(None, (_right(_words(line), at, len(words), mark) for line in others)), "")
    if not right:
        return
    said = " ".join(words)[:LONGEST]
    yield Event(
        kind="marked-wrong",
        role="ending",
        message=f"The program marks a result {mark}, in the column in which others are marked {right}: {said}.",
        facts=(("mark", mark), ("said", " ".join(word for place, word in enumerate(words) if place != at)[:80])),
        notes=("not proved: what the mark means, and that the GPU has anything to do with it",),
        next=_next.INVESTIGATE,
        sure=False,
        warning=True,
    )


def _words(text: str) -> list[str]:
    """The words of a line, without brackets and leaders around them."""
    return [word for part in text[:400].split() if (word := part.strip(_FRAME))]


def _right(words: list[str], at: int, count: int, mark: str) -> str:
    """The mark for "right" in the same column, counted from either end of the line."""
    marks = TICKS if mark in CROSSES else RIGHT
    for place in (at, len(words) - count + at):
        if 0 <= place < len(words) and (words[place].upper() in marks):
            return words[place]
    return ""
