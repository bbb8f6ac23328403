"""Which lines of a block have marks. A block is searched for all marks at once, and lines without any cost no Python code.

Each mark has a key: the four bytes of it that logs have least often. Every four bytes of the block are looked up in a table of
these keys; where the table says "perhaps", the whole mark is compared. Two letters that differ only in case are the same in both.
"""

from __future__ import annotations

import string
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
COMMON = 6  # so much less rare is a key for each other mark that has it


def _table() -> bytes:
    table = bytearray(range(256))
    for upper in string.ascii_uppercase.encode():
        table[upper] = upper + 32
    table[ord("\r")] = ord("\n")  # a carriage return begins a line, too: progress bars
    return bytes(table)


_FOLD = _table()


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
        marks = list(marks)
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
        start = stop = -1
        readers: set[int] = set()
        for at in self._candidates(folded):
            found = self._at(folded, data, at, begin)
            if not found:
                continue
            if at >= stop:
                if readers:
                    yield begin + start, begin + stop, frozenset(readers)
                start = folded.rfind(b"\n", 0, at) + 1
                stop = folded.find(b"\n", at)
                stop = stop if stop >= 0 else len(folded)
                readers = set()
            readers.update(found)
        if readers:
            yield begin + start, begin + stop, frozenset(readers)

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
