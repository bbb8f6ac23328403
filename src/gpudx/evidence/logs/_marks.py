"""Which lines of a block have marks. A block is searched for all marks at once, and lines without any cost no Python code.

Each mark has a key: the four bytes of it that logs have least often. Every four bytes of the block are looked up in a table of
these keys; where the table says "perhaps", the whole mark is compared. Two letters that differ only in case are the same in both.
"""

from __future__ import annotations

import string
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEY = 4  # bytes of a key
SHORT = 2  # bytes of a mark that has a table of its own; no mark is shorter
BITS = 20  # the table has this many bits of index: a megabyte, with a few keys in a thousand entries
SPREAD = np.uint32(2654435761)  # Knuth's multiplicative hash: 2^32 divided by the golden ratio
# Letters by how often they occur in English text; digits and blanks are frequent in logs, other characters are rare.
_OFTEN = b" 0etaoinsrh1ldcu2345m6f7p89gwybvkxjqz"
_RARITY = [_OFTEN.find(byte) if byte in _OFTEN else len(_OFTEN) for byte in range(256)]
LONGEST_SHAPE = 4096  # bytes of a line whose shape is remembered
MOST_BYTES = 2 << 20  # of all shapes
COMMON = 6  # so much less rare is a key for each other mark that has it


def _table() -> bytes:
    table = bytearray(range(256))
    for upper in string.ascii_uppercase.encode():
        table[upper] = upper + 32
    table[ord("\r")] = ord("\n")  # a carriage return begins a line, too: progress bars
    return bytes(table)


_FOLD = _table()
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(frozen=True)
class Mark:
    """A text that lines of a format have; `exact` marks count only as they are written."""

    text: bytes
    reader: int
    exact: bool = True


@dataclass(frozen=True)
class _Kept:
    """A mark, and how far its key is from its beginning."""

    folded: bytes
    text: bytes  # "" where upper and lower case are the same
    back: int
    reader: int


class Marks:
    """Finds lines with marks. Every block is cut at line ends."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._by_key: dict[bytes, list[_Kept]] = defaultdict(list)
        self._long = np.zeros(1 << BITS, np.bool_)
        self._short = np.zeros(1 << 16, np.bool_)
        self._shapes: dict[bytes, frozenset[int]] = {}
        self._size = self._hits = 0
        self._repeats = True
        marks = list(marks)
        zeros = {mark.text.translate(_FOLD).translate(_ZEROS) for mark in marks}
        self._numbered = [text for text in zeros if b"0" in text]  # marks that a line's numbers decide
        shared = Counter(key for one in {mark.text.translate(_FOLD) for mark in marks} for key in set(_keys(one)))
        for mark in marks:
            folded = mark.text.translate(_FOLD)
            at = _rarest(folded, shared)
            key = folded[at : at + KEY]
            self._by_key[key].append(_Kept(folded, mark.text if mark.exact else b"", at, mark.reader))
            self._enter(key)

    def _enter(self, key: bytes) -> None:
        if len(key) == KEY:
            self._long[_index(np.frombuffer(key, "<u4"))] = True
        elif len(key) > SHORT:  # whatever byte follows
            words = b"".join(key + bytes([last]) for last in range(256))
            self._long[_index(np.frombuffer(words, "<u4"))] = True
        else:
            self._short[np.frombuffer(key, "<u2")] = True

    def lines(self, data: bytes, begin: int, end: int) -> Iterator[tuple[int, int, frozenset[int]]]:
        """Where lines with marks begin and end, and which readers they are for."""
        folded = data[begin:end].translate(_FOLD)
        places = self._candidates(folded)
        at = 0
        while at < len(places):
            start = folded.rfind(b"\n", 0, places[at]) + 1
            stop = folded.find(b"\n", places[at])
            stop = stop if stop >= 0 else len(folded)
            after = max(at + 1, bisect_left(places, stop, at))  # a place may be the end of a line itself
            readers = self._of_line(data, folded, begin, start, stop, places[at:after])
            if readers:
                yield begin + start, begin + stop, readers
            at = after

    def _of_line(
        self, data: bytes, folded: bytes, begin: int, start: int, stop: int, places: list[int]
    ) -> frozenset[int]:
        """The readers of a line. Lines of a log repeat, but for numbers: each shape is compared with the marks once."""
        repeats = self._repeats and stop - start <= LONGEST_SHAPE
        shape = data[begin + start : begin + stop].translate(_ZEROS) if repeats else b""
        known = self._shapes.get(shape)
        if known is not None:
            self._hits += 1
            return known
        readers = frozenset(one for place in places for one in self._at(folded, data, place, begin))
        if shape and not any(mark in shape.lower() for mark in self._numbered):
            self._remember(shape, readers)
        return readers

    def _remember(self, shape: bytes, readers: frozenset[int]) -> None:
        """A log whose lines do not repeat costs more to remember than to read: then nothing more is remembered."""
        self._shapes[shape] = readers
        self._size += len(shape)
        if self._size > MOST_BYTES:
            self._repeats = self._hits > len(self._shapes)
            self._shapes.clear()
            self._size = self._hits = 0

    def _candidates(self, folded: bytes) -> list[int]:
        """Where keys may be, in order: all of them, and a few that only have the index of one."""
        padded = folded + b"\n" * (KEY - 1)
        found: list[NDArray[np.intp]] = []
        for shift in range(KEY):
            words = np.frombuffer(padded, "<u4", count=(len(padded) - shift) // KEY, offset=shift)
            hits = self._long[_index(words)]
            hits |= self._short[words & np.uint32(0xFFFF)]
            found.append(np.flatnonzero(hits) * KEY + shift)
        together = np.concatenate(found)
        together.sort()
        return together.tolist()  # type: ignore[no-any-return]

    def _at(self, folded: bytes, data: bytes, at: int, begin: int) -> list[int]:
        """The readers of the marks whose keys are there."""
        key = folded[at : at + KEY]
        return [
            kept.reader
            for some in (self._by_key.get(key), self._by_key.get(key[:-1]), self._by_key.get(key[:SHORT]))
            for kept in some or ()
            if folded.startswith(kept.folded, max(0, at - kept.back))
            and (not kept.text or data.startswith(kept.text, begin + at - kept.back))
        ]


def _index(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return (words * SPREAD) >> np.uint32(32 - BITS)


def _keys(folded: bytes) -> list[bytes]:
    return [folded[at : at + KEY] for at in range(max(1, len(folded) - KEY + 1))]


def _rarest(folded: bytes, shared: Counter[bytes]) -> int:
    """Where the key of a mark begins. What many marks have ("device", "memory") is frequent in logs, too."""
    rarity = [sum(_RARITY[byte] for byte in key) - COMMON * (shared[key] - 1) for key in _keys(folded)]
    return rarity.index(max(rarity))
