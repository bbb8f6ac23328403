"""Macros that build options define, beside those that the sources use."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from gpudx.facts import Facts

MOST_BYTES = 1 << 20
MOST_HEADERS = 64
WORD = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:["<]([^">\n]+)[">])?', re.M)
TESTED = re.compile(r"^[ \t]*#[ \t]*(?:ifn?def[ \t]+(\w+)|(?:el)?if\b(.*))", re.M)
DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+(.*?))?[ \t\r]*$", re.M)
OF_OTHERS = re.compile(r"_|CL_|cl_|NDEBUG$")  # names that compilers, drivers and their headers ask for


@dataclass(frozen=True)
class Build:
    """One call that compiled a source: what its options define, as text, and the source with its headers."""

    position: int
    options: str
    text: str

    @cached_property
    def given(self) -> Mapping[str, str]:
        return dict(_given(self.options))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(WORD.findall(self.text))

    @cached_property
    def tested(self) -> Mapping[str, int]:
        """Macros that conditions of the source ask for, with the line."""
        plain, found = COMMENT.sub(_blank, self.text), dict[str, int]()
        for match in TESTED.finditer(plain):
            for name in WORD.findall(match[1] or match[2] or ""):
                found.setdefault(name, plain.count("\n", 0, match.start()) + 1)
        return found

    @cached_property
    def defaults(self) -> Mapping[str, str]:
        """What the source itself defines."""
        return {match[1]: match[2] or "" for match in DEFINED.finditer(COMMENT.sub(_blank, self.text))}


@dataclass
class Builds:
    facts: Facts
    _headers: dict[Path, str] = field(default_factory=dict)

    def all(self) -> list[Build]:
        """None at all where a header is not found: it may use what no source does."""
        found = []
        for position in self._positions():
            options = self.facts.trace.array(position, "options").decode("utf-8", "replace")
            source = self._source(position)
            text = self._with_headers(source, options) if source else None
            if text is None:
                return []
            found.append(Build(position, options, text))
        return found

    def _positions(self) -> list[int]:
        trace = self.facts.trace
        calls = tuple(one for one in trace.schema.doing("build") if "options" in one.arrays and "program" in dict(one.fields))
        return sorted(trace.select(calls).tolist()) if calls else []

    def _source(self, position: int) -> str:
        """"" where the program was made from a binary."""
        program = self.facts.trace.record(position)["program"]
        row = int(self.facts.objects.live_at(np.array([program], np.uint64), np.array([position], np.int64))[0])
        born = int(self.facts.objects.table["born"][row]) if row >= 0 else 0
        notes = [at for at, _ in self.facts.kernels.sources.get(program, ()) if born <= at <= position]
        return self.facts.kernels.source(program, position) if notes else ""

    def _with_headers(self, source: str, options: str) -> str | None:
        folders, waiting, texts = _folders(options), [source], [source]
        seen: set[Path] = set()
        while waiting:
            for match in INCLUDE.finditer(COMMENT.sub(_blank, waiting.pop())):
                file = next((one for one in (folder / (match[1] or "?") for folder in folders) if one.is_file()), None)
                if file is None or len(seen) > MOST_HEADERS or sum(map(len, texts)) > MOST_BYTES:
                    return None
                if file not in seen:
                    seen.add(file)
                    texts.append(file.read_text(errors="replace"))
                    waiting.append(texts[-1])
        return "\n".join(texts) if sum(map(len, texts)) <= MOST_BYTES else None


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n") or " "


def _split(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError:
        return []


def _values(options: str, flag: str) -> Iterator[str]:
    words = _split(options)
    for at, word in enumerate(words):
        if word == flag and at + 1 < len(words):
            yield words[at + 1]
        elif word.startswith(flag) and word != flag:
            yield word[len(flag) :]


def _given(options: str) -> Iterator[tuple[str, str]]:
    for word in _values(options, "-D"):
        name, equals, value = word.partition("=")
        if WORD.fullmatch(name) and not OF_OTHERS.match(name):
            yield name, value if equals else "1"


def _folders(options: str) -> list[Path]:
    return [*map(Path, _values(options, "-I")), Path(os.getcwd())]
