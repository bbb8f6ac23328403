"""Which lines of a block have marks. Lines of a log repeat, but for numbers: each shape of a line is searched only once.

The shape of a line is the line in lower case, with every hexadecimal digit as "0". Marks are folded in the same way, so that a shape
without folded marks stands for lines without marks. A block whose shapes are all known and have no marks costs no Python code per line.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_BYTES = 8 << 20  # of shapes that are remembered


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
        self._known: dict[bytes, tuple[Mark, ...]] = {}
        self._size = 0

    def lines(self, data: bytes, begin: int, end: int) -> Iterator[tuple[int, int, set[int]]]:
        """Where lines with marks begin and end, and which readers they are for."""
        shapes = data[begin:end].translate(_FOLD).split(b"\n")
        hot = self._hot(set(shapes))
        if not hot:
            return
        at = begin
        for shape in shapes:
            if shape in hot:
                line = data[at : at + len(shape)]
                readers = {mark.reader for mark in hot[shape] if not mark.exact or mark.text in line}
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
        found: dict[bytes, list[Mark]] = {}
        for folded, marks in self._marks.items():
            at = joined.find(folded)
            while at >= 0:
                stop = joined.find(b"\n", at)
                stop = stop if stop >= 0 else len(joined)
                found.setdefault(joined[joined.rfind(b"\n", 0, at) + 1 : stop], []).extend(marks)
                at = joined.find(folded, stop)
        self._known.update(dict.fromkeys(fresh, ()))
        self._known.update({shape: tuple(marks) for shape, marks in found.items()})
