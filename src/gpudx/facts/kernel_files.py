"""Where the text that a program gave the driver is in the user's own files: in a .cl file, or in the strings of a C, C++ or Python source.

A line of the text is of little use to whoever wrote `"  tmp[lid] += tmp[lid - d];\n"` at scan.c:23. Files are compared with the text line
by line and without white space, so that literals on many lines, raw strings and macros that make strings of code all fit. Of
strings between #if and #endif, those of the branch that fits count. A line that was put together (a format, an f-string) lies between its
neighbours. Where more than one place fits, the nearest file is given: one that
makes programs or launches, else one beside it, else one in a folder below; none where two are as near.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise

import numpy as np

from gpudx.facts.launches import Launches
from gpudx.facts.sites import Sites
from gpudx.text.places import is_installed
from gpudx.trace import Trace

HOST = frozenset(".c .cc .cpp .cxx .c++ .cu .h .hh .hpp .hxx .hip .inc .inl .py .pyx .rs .jl .java .go .m .mm".split())
DEVICE = frozenset(".cl .clh .ocl .opencl .cuh".split())
MOST_CALLS = 16  # whose lines are looked at
MOST_FILES, MOST_BYTES, MOST_FOLDERS = 400, 1_000_000, 40
PREPROCESSED = HOST - frozenset(".py .pyx .rs .jl .java .go".split())
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
LEAST = 8  # characters of a line that say something; `}` is everywhere
CERTAIN = 24  # characters in a row that are not there by chance
WHITE = re.compile(r"\s+")
# Strings of C, C++ and Python with what stands around them, comments, and everything else a character at a time.
RAW = r'R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
TRIPLE = r"(?P<quotes>\"\"\"|''')(?P<triple>(?:\\.|.)*?)(?P=quotes)"
PLAIN = r'"(?P<plain>(?:\\.|[^"\\\n])*)"'
SINGLE = r"'(?P<single>(?:\\.|[^'\\\n])*)'"
STRINGS = re.compile(rf"{RAW}|{TRIPLE}|{PLAIN}|{SINGLE}|//[^\n]*|/\*.*?\*/", re.S)
ESCAPE = re.compile(r"\\(\r?\n|.)", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


@dataclass(frozen=True)
class Piece:
    """What one line of a file contributes to a text, without white space."""

    line: int
    text: str


@dataclass(frozen=True)
class Branches:
    """The lines of #if, #elif and #else between which strings stand, and of #endif. `total`: one branch is always taken."""

    lines: tuple[int, ...]
    total: bool


@dataclass(frozen=True)
class Reading:
    """What a file says, in one of the ways to read it."""

    pieces: tuple[Piece, ...]
    branches: tuple[Branches, ...] = ()  # inner ones first


@dataclass(frozen=True)
class _Text:
    """A text without white space, and where its lines begin in it."""

    text: str
    begins: tuple[int, ...]

    def line(self, offset: int) -> int:
        """The last of those that begin there: the others are empty."""
        return bisect_right(self.begins, offset)

    def row(self, line: int) -> str:
        return self.text[self.begins[line - 1] : self.begins[line] if line < len(self.begins) else len(self.text)]


class KernelFiles:
    """Of one process: its files are beside those that make its programs and launches, beside the program, and where it was started."""

    def __init__(self, trace: Trace, launches: Launches, sites: Sites) -> None:
        self._trace, self._launches, self._sites = trace, launches, sites

    @cached_property
    def _first(self) -> tuple[str, ...]:
        """Files that create programs of sources, or launch: the most likely ones."""
        texts = self._trace.named("note_source")[:MOST_CALLS]
        calls = np.flatnonzero(~self._trace.is_note)
        made = calls[np.searchsorted(calls, texts) - 1] if len(calls) else calls  # a note follows its call
        positions = [*made.tolist(), *self._launches.position[:MOST_CALLS].tolist()]
        lines = filter(None, (self._sites.at(int(one)).source for one in positions))
        return tuple(dict.fromkeys(path for one in lines if not is_installed(path := one.rpartition(":")[0])))

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        scripts = [one for one in self._trace.argv if os.path.splitext(one)[1] in HOST]
        beside = [os.path.dirname(one) for one in (*self._first, self._trace.exe, *scripts)]
        return tuple(dict.fromkeys(os.path.realpath(one or ".") for one in [*beside, os.getcwd()] if not is_installed(f"{one}/")))

    def place(self, text: str, line: int, shown: str = "", nth: int = 0) -> tuple[str, int] | None:
        """The file and line of what is at a line of a program's text: `shown`, which is there `nth` times before."""
        return place(text, line, shown, nth, self._folders, self._first)


def place(
    text: str, line: int, shown: str = "", nth: int = 0, folders: tuple[str, ...] = (), first: tuple[str, ...] = ()
) -> tuple[str, int] | None:
    """The same among these folders, and the files to begin with."""
    whole = _packed(text)
    if not 0 < line <= len(whole.begins):
        return None
    offset = whole.begins[line - 1] + _column(whole.row(line), WHITE.sub("", shown), nth)
    found: dict[tuple[str, int], int] = {}
    for path, pieces, fitting in _readings_of(text, folders, first):
        at = _line_of(pieces, fitting, whole, offset)
        if at is not None:
            found[path, at[0]] = max(at[1], found.get((path, at[0]), 0))
    best = max(found.values(), default=0)
    places = [one for one, matched in found.items() if matched == best]
    far = {one: _distance(one[0], folders, first) for one in places}
    nearest = [one for one in places if far[one] == min(far.values())]
    return nearest[0] if len(nearest) == 1 else None


def _distance(path: str, folders: tuple[str, ...], first: tuple[str, ...]) -> int:
    if path in map(os.path.realpath, first):
        return 0
    return 1 if os.path.dirname(path) in folders else 2


@cache
def _readings_of(text: str, folders: tuple[str, ...], first: tuple[str, ...]) -> list[tuple[str, Sequence[Piece], list[int]]]:
    """Files with lines of a text, and which of their pieces are in it."""
    whole = _packed(text).text
    found: list[tuple[str, Sequence[Piece], list[int]]] = []
    for path in _files(folders, first):
        for reading in _readings(path):
            pieces = _chosen(reading, whole)
            fitting = [at for at, piece in enumerate(pieces) if piece.text in whole]
            if any(len(pieces[at].text) >= LEAST for at in fitting):
                found.append((path, pieces, fitting))
    return found


def _chosen(reading: Reading, whole: str) -> Sequence[Piece]:
    """Without the pieces of branches that were not compiled: between their neighbours in the file, only one branch fits the text."""
    pieces: Sequence[Piece] = reading.pieces
    for one in reading.branches:
        parts = [_between_lines(pieces, begin, end) for begin, end in pairwise(one.lines)]
        if not any(parts):
            continue
        before = next((piece for piece in reversed(pieces) if piece.line <= one.lines[0]), None)
        behind = next((piece for piece in pieces if piece.line >= one.lines[-1]), None)
        head, tail = before.text if before else "", behind.text if behind else ""
        said = ["".join(piece.text for piece in part) for part in (*parts, *([] if one.total else [[]]))]
        fits = [at for at, text in enumerate(said) if head + text + tail in whole]
        fits = fits or [at for at, text in enumerate(said) if head + text in whole]
        if len(fits) == 1:
            kept = {piece.line for piece in parts[fits[0]]} if fits[0] < len(parts) else set()
            dropped = {piece.line for part in parts for piece in part} - kept
            pieces = [piece for piece in pieces if piece.line not in dropped]
    return pieces


def _between_lines(pieces: Sequence[Piece], begin: int, end: int) -> list[Piece]:
    return [piece for piece in pieces if begin < piece.line < end]


def _column(row: str, shown: str, nth: int) -> int:
    """Where `shown` is in a line; its begin if it is not there, because a macro made it."""
    at = row.find(shown) if shown else -1
    for _ in range(nth):
        at = row.find(shown, at + 1) if at >= 0 else -1
    return max(at, 0)


@cache
def _packed(text: str) -> _Text:
    packed = [WHITE.sub("", one) for one in text.split("\n")]
    begins = (0, *accumulate(map(len, packed)))
    return _Text("".join(packed), begins[:-1])


@cache
def _files(folders: tuple[str, ...], first: tuple[str, ...]) -> tuple[str, ...]:
    """Sources in the folders and one below them, the files to begin with before the others."""
    found = [os.path.realpath(one) for one in first if os.path.isfile(one)]
    found += (path for folder in folders for path in _sources(folder))
    return tuple(dict.fromkeys(found))[:MOST_FILES]


def _sources(folder: str) -> Iterator[str]:
    entries = _entries(folder)
    below = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
    for one in (*entries, *(one for path in below[:MOST_FOLDERS] for one in _entries(path))):
        if _is_source(one):
            yield os.path.realpath(one.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda one: one.name)[:MOST_FILES]
    except OSError:
        return []


def _is_source(entry: os.DirEntry[str]) -> bool:
    suffix = os.path.splitext(entry.name)[1].lower()
    return suffix in HOST | DEVICE and entry.is_file() and entry.stat().st_size <= MOST_BYTES


@cache
def _readings(path: str) -> tuple[Reading, ...]:
    """A file as its strings, and as it stands."""
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ()
    as_it_is = Reading(tuple(_pieces(enumerate(text.split("\n"), 1))))
    suffix = os.path.splitext(path)[1].lower()
    if suffix in DEVICE:
        return (as_it_is,)
    strings = _literals(text)
    branches = tuple(_branches(text, strings)) if suffix in PREPROCESSED else ()
    formats = {line: one.replace("{{", "{").replace("}}", "}") for line, one in strings.items()}
    read = (strings, formats) if formats != strings else (strings,)
    return (*(Reading(tuple(_pieces(sorted(one.items()))), branches) for one in read), as_it_is)


def _branches(text: str, strings: Mapping[int, str]) -> Iterator[Branches]:
    """Those of the host's preprocessor: a directive inside a string is the kernel's."""
    open_: list[tuple[list[int], list[str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        found = DIRECTIVE.match(line)
        if found is None or "#" in strings.get(number, ""):
            continue
        if found[1] in ("if", "ifdef", "ifndef"):
            open_.append(([number], []))
        elif open_:
            open_[-1][0].append(number)
            open_[-1][1].append(found[1])
        if found[1] == "endif" and open_:
            lines, words = open_.pop()
            yield Branches(tuple(lines), "else" in words)


def _pieces(lines: Iterable[tuple[int, str]]) -> Iterator[Piece]:
    for number, line in lines:
        if packed := WHITE.sub("", line):
            yield Piece(number, packed)


def _literals(text: str) -> dict[int, str]:
    """What strings say, by the line that it stands in."""
    found: dict[int, str] = {}
    line, at = 1, 0
    for string in STRINGS.finditer(text):
        group = string.lastgroup or ""
        said = string[group] if group in ("raw", "triple", "plain", "single") else ""
        begin = string.start(group) if said else string.start()
        line += text.count("\n", at, begin)
        at = begin
        for number, part in enumerate(said.split("\n")):
            found[line + number] = found.get(line + number, "") + (part if group == "raw" else ESCAPE.sub(_meant, part))
    return found


def _meant(escape: re.Match[str]) -> str:
    return ESCAPES.get(escape[1], "" if escape[1].isspace() else escape[1])


def _line_of(pieces: Sequence[Piece], fitting: Sequence[int], whole: _Text, offset: int) -> tuple[int, int] | None:
    """The line of the piece that covers a place, and how much of the text lies around it without a gap: the head of the function at
    least, since other functions have the same lines."""
    head = _head_of_function(whole.text, offset)
    found: dict[int, int] = {}
    for at in fitting:
        piece = pieces[at]
        for begin in _occurrences(whole.text, piece.text, offset):
            first, end = _around(pieces, at, whole.text, begin)
            if first <= head:
                found[piece.line] = max(end - first, found.get(piece.line, 0))
    best = max(found.values(), default=0)
    lines = [line for line, matched in found.items() if matched == best]
    if best < min(CERTAIN, len(whole.text)):
        return _between(pieces, whole, whole.line(offset))
    return (lines[0], best) if len(lines) == 1 else None


def _occurrences(text: str, piece: str, offset: int) -> Iterator[int]:
    """Where a piece begins such that it covers the place."""
    at = text.find(piece, max(0, offset - len(piece) + 1), offset + len(piece))
    while at >= 0 and at <= offset:
        yield at
        at = text.find(piece, at + 1, offset + len(piece))


@cache
def _head_of_function(text: str, offset: int) -> int:
    """Where the head ends of the function that a place is in; the place itself where that is none."""
    depth, opened = 0, offset
    for at, char in enumerate(text[:offset]):
        opened = at if char == "{" and not depth else opened
        depth = max(depth + (char == "{") - (char == "}"), 0)
    return max(opened - LEAST, 0) if depth else offset


def _around(pieces: Sequence[Piece], at: int, text: str, begin: int) -> tuple[int, int]:
    """The characters that fit in a row, with the pieces before and behind."""
    end, first = begin + len(pieces[at].text), begin
    for one in pieces[at + 1 :]:
        if not text.startswith(one.text, end):
            break
        end += len(one.text)
    for one in reversed(pieces[:at]):
        if not text.endswith(one.text, 0, first):
            break
        first -= len(one.text)
    return first, end


def _between(pieces: Sequence[Piece], whole: _Text, number: int) -> tuple[int, int] | None:
    """A line that fits nowhere, because it was put together: the one between its neighbours, if these have one line between them."""
    if not 1 < number < len(whole.begins):
        return None
    above, below = whole.row(number - 1), whole.row(number + 1)
    by_line = {piece.line: piece.text for piece in pieces}
    if whole.row(number) in by_line.values():
        return None
    found = [line + 1 for line, text in by_line.items() if text == above and below and by_line.get(line + 2) == below]
    return (found[0], CERTAIN) if len(found) == 1 and len(above + below) >= CERTAIN else None
