"""Which lines of a block have marks. A block is searched for all marks at once; no Python code runs for a single line.

Each mark has a key: the four bytes of it that logs have least often. Every four bytes of the block are looked up in a table of
these keys; where the table says "perhaps", the whole mark is compared, for all places with the same four bytes together. Two letters
that differ only in case have the same key.
"""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

KEY = 4  # bytes of a key
SHORT = 2  # bytes of a mark that has a table of its own; no mark is shorter
BITS = 20  # the table has this many bits of index: a megabyte, with a few keys in a thousand entries
SPREAD = np.uint32(2654435761)  # Knuth's multiplicative hash: 2^32 divided by the golden ratio
# Letters by how often they occur in English text; digits and blanks are frequent in logs, other characters are rare.
_OFTEN = b" 0etaoinsrh1ldcu2345m6f7p89gwybvkxjqz"
_RARITY = [_OFTEN.find(byte) if byte in _OFTEN else len(_OFTEN) for byte in range(256)]
COMMON = 6  # so much less rare is a key for each other mark that has it
MOST_WORDS = 50_000  # four-byte words whose marks are remembered
FEW = 6  # places that are compared one by one: for more of them arrays are quicker
READER_BITS = 16
READER = (1 << READER_BITS) - 1
ZERO = ord("0")  # that stands alone: "0 errors" is not like "3 errors"
NEWLINE = ord("\n")

Places = NDArray[np.intp]


def _table() -> bytes:
    table = bytearray(range(256))
    for upper in string.ascii_uppercase.encode():
        table[upper] = upper + 32
    table[ord("\r")] = NEWLINE  # a carriage return begins a line, too: progress bars
    return bytes(table)


_FOLD = _table()


def _weights() -> NDArray[np.uint32]:
    """A random number for each pair of neighbouring bytes; none for two digits, so that a number counts alike, whatever its length."""
    weights = np.random.default_rng(1).integers(1 << 32, size=(256, 256), dtype=np.uint32)
    first, end = ord("0"), ord("9") + 1
    weights[first:end, :] = weights[first, :]
    weights[:, first:end] = weights[:, first, np.newaxis]
    weights[first:end, first:end] = 0
    return weights.reshape(-1)


_WEIGHTS = _weights()


_IN_WORDS = np.array([chr(byte) in f"{string.ascii_letters}{string.digits}_." for byte in range(256)])


@dataclass(frozen=True)
class Mark:
    """A text that lines of a format have; `exact` marks count only as they are written."""

    text: bytes
    reader: int
    exact: bool = True


@dataclass(frozen=True)
class _Kept:
    """A mark, and how far its key is from its beginning."""

    text: bytes  # folded unless it is exact
    exact: bool
    back: int
    reader: int


class Hits(NamedTuple):
    """Lines with marks, in order, and the readers of each: `readers[i]` is one of those of line `rows[i]`."""

    starts: Places  # where each line begins, in the data that was searched
    stops: Places
    shapes: NDArray[np.uint64]  # the same number for lines that differ in digits only
    rows: Places
    readers: Places

    @property
    def codes(self) -> NDArray[np.uint64]:
        """A number for each pair of shape and reader."""
        return (self.shapes[self.rows] << np.uint64(READER_BITS)) | self.readers.astype(np.uint64)

    def lines(self, kept: NDArray[np.bool_] | None = None) -> Iterator[tuple[int, int, int, list[int]]]:
        """Row, beginning, end and readers of each line that has any; with `kept`, only these pairs count."""
        rows, readers = (self.rows, self.readers) if kept is None else (self.rows[kept], self.readers[kept])
        edges = [0, *(np.flatnonzero(np.diff(rows)) + 1).tolist(), len(rows)] if len(rows) else [0]
        names = readers.tolist()
        first = rows[edges[:-1]]
        places = zip(first.tolist(), self.starts[first].tolist(), self.stops[first].tolist(), strict=True)
        for (row, start, stop), low, high in zip(places, edges, edges[1:], strict=False):
            yield row, start, stop, names[low:high]


def code_of(shape: int, reader: int) -> int:
    """The same as in `codes`, for one line."""
    return shape << READER_BITS | reader


class Marks:
    """Finds lines with marks. Every block is cut at line ends."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._by_key: dict[bytes, list[_Kept]] = defaultdict(list)
        self._by_word: dict[bytes, tuple[_Kept, ...]] = {}
        self._long = np.zeros(1 << BITS, np.bool_)
        self._short = np.zeros(1 << 16, np.bool_)
        marks = list(marks)
        shared = Counter(key for one in {mark.text.translate(_FOLD) for mark in marks} for key in set(_keys(one)))
        for mark in marks:
            folded = mark.text.translate(_FOLD)
            at = _rarest(folded, shared)
            key = folded[at : at + KEY]
            self._by_key[key].append(_Kept(mark.text if mark.exact else folded, mark.exact, at, mark.reader))
            self._enter(key)

    def _enter(self, key: bytes) -> None:
        if len(key) == KEY:
            self._long[_index(np.frombuffer(key, "<u4"))] = True
        elif len(key) > SHORT:  # whatever byte follows
            words = b"".join(key + bytes([last]) for last in range(256))
            self._long[_index(np.frombuffer(words, "<u4"))] = True
        else:
            self._short[np.frombuffer(key, "<u2")] = True

    def find(self, data: bytes, begin: int, end: int) -> Hits:
        """The lines between `begin` and `end` that have marks."""
        block = data[begin:end]
        folded = block.translate(_FOLD)
        places, readers = self._matches(block, folded)
        ends = np.append(np.flatnonzero(np.frombuffer(folded, np.uint8) == NEWLINE), len(folded))
        width = int(readers.max(initial=0)) + 1
        pairs = np.unique(np.searchsorted(ends, places) * width + readers)  # each reader once for a line
        lines, rows = np.unique(pairs // width, return_inverse=True)
        starts = np.where(lines > 0, ends[lines - 1] + 1, 0)
        shapes = _shapes(folded, starts, ends[lines])
        return Hits(starts + begin, ends[lines] + begin, shapes, rows.reshape(-1), pairs % width)

    def _matches(self, block: bytes, folded: bytes) -> tuple[Places, Places]:
        """Where marks are, and whose."""
        found: list[Places] = [np.empty(0, np.intp)]
        readers: list[Places] = [np.empty(0, np.intp)]
        for word, places in self._candidates(folded):
            for kept in self._of_word(word):
                here = _compared(block if kept.exact else folded, kept.text, places - kept.back)
                if len(here):
                    found.append(here)
                    readers.append(np.full(len(here), kept.reader, np.intp))
        return np.concatenate(found), np.concatenate(readers)

    def _candidates(self, folded: bytes) -> Iterator[tuple[bytes, Places]]:
        """Words of four bytes that may be keys, each with all its places: all keys, and a few that only have the index of one."""
        padded = folded + b"\n" * (KEY - 1)
        found: list[Places] = []
        seen: list[NDArray[np.uint32]] = []
        for shift in range(KEY):
            words = np.frombuffer(padded, "<u4", count=(len(padded) - shift) // KEY, offset=shift)
            hits = self._long[_index(words)]
            hits |= self._short[words & np.uint32(0xFFFF)]
            at = np.flatnonzero(hits)
            found.append(at * KEY + shift)
            seen.append(words[at])
        places, values = np.concatenate(found), np.concatenate(seen)
        order = np.argsort(values, kind="stable")
        places, values = places[order], values[order]
        edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)] if len(values) else [0]
        for low, high in pairwise(edges):
            yield values[low].tobytes(), places[low:high]

    def _of_word(self, word: bytes) -> tuple[_Kept, ...]:
        """The marks whose keys these four bytes begin with."""
        known = self._by_word.get(word)
        if known is None:
            if len(self._by_word) >= MOST_WORDS:
                self._by_word.clear()
            keys = (word, word[:-1], word[:SHORT])
            known = self._by_word[word] = tuple(kept for key in keys for kept in self._by_key.get(key, ()))
        return known


def _shapes(folded: bytes, starts: Places, stops: Places) -> NDArray[np.uint64]:
    """The shapes of the lines between these places: sums over their pairs of bytes."""
    if not len(starts):
        return np.empty(0, np.uint64)
    text = np.frombuffer(folded + b"\n", np.uint8)
    pairs = text.astype(np.uint16)
    zeros = np.flatnonzero(text == ZERO)  # the last byte is a line end, so that each has a neighbour; it is also the one before the first
    pairs[zeros[~(_IN_WORDS[text[zeros - 1]] | _IN_WORDS[text[zeros + 1]])]] = 0
    pairs[:-1] |= pairs[1:] << np.uint16(8)
    edges = np.column_stack((starts, stops)).reshape(-1)
    sums: NDArray[np.uint64] = np.add.reduceat(_WEIGHTS[pairs], edges, dtype=np.uint64)[::2]
    return sums


def _compared(text: bytes, mark: bytes, starts: Places) -> Places:
    """Those of the places where the whole mark is."""
    if len(starts) <= FEW:
        return np.array([at for at in starts.tolist() if at >= 0 and text.startswith(mark, at)], np.intp)
    starts = starts[(starts >= 0) & (starts <= len(text) - len(mark))]
    if not len(starts):
        return starts
    windows = sliding_window_view(np.frombuffer(text, np.uint8), len(mark))
    return starts[(windows[starts] == np.frombuffer(mark, np.uint8)).all(axis=1)]


def _index(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return (words * SPREAD) >> np.uint32(32 - BITS)


def _keys(folded: bytes) -> list[bytes]:
    return [folded[at : at + KEY] for at in range(max(1, len(folded) - KEY + 1))]


def _rarest(folded: bytes, shared: Counter[bytes]) -> int:
    """Where the key of a mark begins. What many marks have ("device", "memory") is frequent in logs, too."""
    rarity = [sum(_RARITY[byte] for byte in key) - COMMON * (shared[key] - 1) for key in _keys(folded)]
    return rarity.index(max(rarity))
