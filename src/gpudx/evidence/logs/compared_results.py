"""Results that are wrong only by comparison with the lines around them: marks in a list, and a value of the CPU beside one of the GPU.

NG, KO, EE or a cross count as "not right" where a line nearby has OK or a tick in the same column; crosses also stand in tables of
features, and count only with the time that a test took, or a number of failures nearby. A hash, checksum or digest of the GPU that
differs from that of the CPU shows a wrong result; times and rates differ rightly. The line is repeated, and nothing is blamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next, program_error
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "compared-results"
GENERIC = 3
MARKS = (
    " NG", "NG ", "[NG]", " KO", "KO ", "[KO]", " EE", "EE ", "[EE]",
    "NOK", " BAD", "BAD ", "[BAD]", "✗", "✘", "✖", "❌", "GPU ", "gpu ",
)
MOST_READ = 4000
NEAR, MOST_WORDS, LONGEST = 12, 30, 120
WRONG, CROSSES = frozenset(("NG", "KO", "EE", "NOK", "BAD")), frozenset("✗✘✖❌")
RIGHT, TICKS = frozenset(("OK", "PASS", "PASSED", "GOOD")), frozenset("✓✔✅√")
_FRAME = "[](){}<>:|.,;*-=\ufe0f"
_TOOK = re.compile(r"\(?\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|sec|seconds)\b\)?")
_FAILING = re.compile(r"\b[1-9]\d{0,6} (?:failing|failed|failures?)\b|\bfailed\W{1,3}[1-9]", re.IGNORECASE)


# What must be the same on both, however fast they are.
_OWN = re.compile(
    r"^\W*(?P<who>CPU|GPU|host|device) (?P<what>(?:\w+ )?(?:hash|checksum|digest|crc(?:32)?|md5|sha\d*|signature|fingerprint))\s*[:=]\s*"
    r"(?P<value>(?:0x)?[0-9a-f]{4,128})\s*$",
    re.IGNORECASE,
)


def read(near: Near) -> Iterator[Event]:
    if found := _OWN.match(near.text):
        yield from _beside(found, near)
    else:
        yield from _marked(near)


def _beside(found: re.Match[str], near: Near) -> Iterator[Event]:
    """The same value of the CPU, in the line before or behind, where it is another one."""
    if found["who"].lower() not in ("gpu", "device"):
        return
    others = (other for line in (*near.before(1), *near.after(1)) if (other := _OWN.match(line)))
    other = next((one for one in others if one["who"] != found["who"] and one["what"].lower() == found["what"].lower()), None)
    if other and other["value"].lower().removeprefix("0x") != found["value"].lower().removeprefix("0x"):
        yield Event(
            kind="result-differs",
            role="ending",
            message=f"The {found['what']} that the program prints for the {found['who']} is not that of the {other['who']}.",
            facts=(("what", found["what"].lower()),),
            notes=(f"it prints {found['value']} and {other['value']}", "not proved: which of the two is right"),
            next=_next.INVESTIGATE,
            sure=False,
        )


def _marked(near: Near) -> Iterator[Event]:
    words = _words(near.text)
    at = next((place for place, word in enumerate(words) if word in WRONG or word in CROSSES), None)
    if at is None or not 2 <= len(words) <= MOST_WORDS or program_error.MARKED.search(near.text):
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
