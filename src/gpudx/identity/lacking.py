"""Texts that newer sources have and nothing that ran has: marks that nobody had to ask for.

Looked for only where a program is older than its sources. A text that stands under a condition of the preprocessor may be absent from
the newest build too: it is kept apart, and counts for nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpudx.facts import Facts
from gpudx.identity import probes, search
from gpudx.lab.recorded import RunResult
from gpudx.model import Lack, LoadedObject

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".hip", ".m", ".mm")  # not headers: nobody need use what they hold
LEAST = 12  # letters: shorter ones may be made of others, or kept in instructions
MOST_BYTES, MOST_ASKED, MOST_TOLD = 1 << 20, 20, 3
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\\n])*\'|"(?P<text>(?:\\.|[^"\\\n])*)"', re.DOTALL)
BROKEN = re.compile(
    r"\\.|%[-+ #0-9.*]*[hlLzjt]*[a-zA-Z%]"
)  # what becomes something else when it is compiled or written
CONDITION = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b")


def lacking(run: RunResult, facts: Sequence[Facts], loaded: Sequence[LoadedObject]) -> tuple[Lack, ...]:
    """Of the programs of the user's own."""
    return tuple(lack for one in loaded if one.executable and one.own for lack in _of(one, run, facts, loaded))


def _of(one: LoadedObject, run: RunResult, facts: Sequence[Facts], loaded: Sequence[LoadedObject]) -> Iterator[Lack]:
    sources = [s.path for s in (one.built.stale if one.built else ()) if s.path.endswith(SUFFIXES)]
    asked = [lack for path in sources for lack in _of_source(path, one.path)][:MOST_ASKED]
    found = probes.looked_for([lack.text for lack in asked], run, facts, loaded)
    absent = [lack for lack, probe in zip(asked, found, strict=True) if probe.state == "absent"]
    yield from sorted(absent, key=lambda lack: lack.conditional)[:MOST_TOLD]


def _of_source(path: str, program: str) -> list[Lack]:
    """Texts of one source that its program lacks; none where it has no text of it at all: then it cannot be searched."""
    try:
        content = Path(path).read_bytes()[:MOST_BYTES].decode("utf-8", "replace")
    except OSError:
        return []
    every = [Lack(text, f"{path}:{line}", program, conditional) for line, text, conditional in texts(content)]
    without = [lack for lack in every if not search.text((program,), lack.text).places]
    return without if len(without) < len(every) else []


def texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """The long texts of a C source: line, text up to what compilers or programs change in it, and is it under a condition?"""
    blank = TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), source)
    depths = list(_depths(blank.split("\n")))
    for token in TOKEN.finditer(source):
        line = source.count("\n", 0, token.start())
        piece = max(BROKEN.split(token["text"] or ""), key=len)
        if len(piece) >= LEAST and not blank.split("\n")[line].lstrip().startswith("#"):
            yield line + 1, piece, depths[line] > 0


def _depths(lines: Iterable[str]) -> Iterator[int]:
    depth = 0
    for line in lines:
        found = CONDITION.match(line)
        depth += 0 if not found else -1 if found[1] == "endif" else 1
        yield depth
