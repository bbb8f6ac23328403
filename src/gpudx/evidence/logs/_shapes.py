"""Which lines of a block have marks. Lines of a log repeat, but for numbers: each shape of a line is searched only once.

The shape of a line is the line in lower case, with every hexadecimal digit as "0". Marks are folded in the same way, so that a shape
without folded marks stands for lines without marks. A block whose shapes are all known and have no marks costs no Python code per line.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 8 << 20  # of shapes that are remembered
HEAD = 2  # bytes by which marks are looked up; none is shorter


def _table() -> bytes:
    table = bytearray(range(256))
    for upper in string.ascii_uppercase.encode():
        table[upper] = upper + 32
    for digit in string.hexdigits.encode():
        table[digit] = ord("0")
    table[ord("\r")] = ord("\n")  # a carriage return begins a line, too: progress bars
    return bytes(table)


_FOLD = _table()


@dataclass(frozen=True)
class Mark:
    """A text that lines of a format have; `exact` marks count only as they are written."""

    text: bytes
    reader: int
    exact: bool = True


class Shapes:
    """Finds lines with marks. Every block is cut at line ends."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._marks: dict[bytes, list[Mark]] = {}
        for mark in marks:
            self._marks.setdefault(mark.text.translate(_FOLD), []).append(mark)
        self._begins: dict[bytes, list[bytes]] = {}
        for folded in self._marks:
            self._begins.setdefault(folded[:HEAD], []).append(folded)
        self._any = re.compile(_pattern(_tree(self._marks)))
        self._known: dict[bytes, tuple[Mark, ...]] = {}
        self._size = 0

    def lines(
        self,
        data: bytes,
        begin: int,
        end: int,
        asked: Callable[[set[int]], set[int]],
        skipped: Callable[[set[int], int], None],
    ) -> Iterator[tuple[int, int, set[int]]]:
        """Where lines with marks begin and end, and which readers they are for.

        `asked` says which of some readers still read; of lines without any, `skipped` gets the readers and the number.
        """
        shapes = data[begin:end].translate(_FOLD).split(b"\n")
        hot = self._hot(set(shapes))
        live = {shape: marks for shape, marks in hot.items() if asked({mark.reader for mark in marks})}
        if len(live) < len(hot):
            counts = Counter(shapes)
            for shape in hot.keys() - live.keys():
                skipped({mark.reader for mark in hot[shape]}, counts[shape])
        if not live:
            return
        at = begin
        for shape in shapes:
            if shape in live:
                line = data[at : at + len(shape)]
                readers = {mark.reader for mark in live[shape] if not mark.exact or mark.text in line}
                if readers:
                    yield at, at + len(shape), readers
            at += len(shape) + 1

    def _hot(self, shapes: set[bytes]) -> dict[bytes, tuple[Mark, ...]]:
        """The shapes that have marks."""
        fresh = shapes.difference(self._known)
        if self._size + sum(map(len, fresh)) > MOST_BYTES:
            self._known.clear()
            self._size, fresh = 0, shapes
        if fresh:
            self._learn(fresh)
        return {shape: marks for shape in shapes if (marks := self._known[shape])}

    def _learn(self, fresh: set[bytes]) -> None:
        joined = b"\n".join(fresh)
        self._size += len(joined)
        self._known.update(dict.fromkeys(fresh, ()))
        found = self._any.search(joined)
        while found:
            stop = joined.find(b"\n", found.start())
            stop = stop if stop >= 0 else len(joined)
            shape = joined[joined.rfind(b"\n", 0, found.start()) + 1 : stop]
            self._known[shape] = self._marks_of(shape)
            found = self._any.search(joined, stop)

    def _marks_of(self, shape: bytes) -> tuple[Mark, ...]:
        """All marks of a line that has one: they may overlap, and begin where another one begins."""
        marks: dict[Mark, None] = {}
        found = self._any.search(shape)
        while found:
            at = found.start()
            for folded in self._begins.get(shape[at : at + HEAD], ()):
                if shape.startswith(folded, at):
                    marks.update(dict.fromkeys(self._marks[folded]))
            found = self._any.search(shape, at + 1)
        return tuple(marks)


def _tree(words: Iterable[bytes]) -> dict[int, Any]:
    """Words by their letters, one level each; a word ends at a level without letters: longer words begin with it."""
    tree: dict[int, Any] = {}
    for word in sorted(words, key=len):
        level = tree
        for letter in word:
            if letter in level and not level[letter]:
                break  # a shorter mark ends here: whoever finds it finds this one
            level = level.setdefault(letter, {})
    return tree


def _pattern(tree: dict[int, Any]) -> bytes:
    """A regular expression for all words of a tree: one pass, however many they are."""
    single = [re.escape(bytes([letter])) for letter, below in tree.items() if not below]
    parts = [re.escape(bytes([letter])) + _pattern(below) for letter, below in tree.items() if below]
    if single:
        parts.insert(0, b"[" + b"".join(single) + b"]" if len(single) > 1 else single[0])
    return parts[0] if len(parts) == 1 else b"(?:" + b"|".join(parts) + b")"
