"""Lines with marks, held against a search that looks for each mark in each line."""

from __future__ import annotations

import random
import re

import pytest

from gpudx.evidence.logs._marks import Mark, Marks

MARKS = [
    Mark(b"CUDA error", 0), Mark(b"Xid 3", 1), Mark(b"$ ", 2), Mark(b"kfd", 3, exact=False), Mark(b"i915 ", 4, exact=False),
    Mark(b"error", 5, exact=False), Mark("错误".encode(), 6), Mark(b"#0", 7),
]  # fmt: skip
PIECES = [mark.text for mark in MARKS] + [b"\n", b"\r", b" ", b"1", b"42", b"CUDA ", b"Error", b"XID 3", b"KFD", b"\xe9", b"x" * 30]


def plain(data: bytes) -> dict[int, frozenset[int]]:
    """The same, slowly: the beginning of each line with its readers."""
    found = {}
    for line in re.finditer(rb"[^\n\r]+", data):
        has = {one.reader for one in MARKS if one.text in line[0] or (not one.exact and one.text.lower() in lower(line[0]))}
        if has:
            found[line.start()] = frozenset(has)
    return found


def lower(text: bytes) -> bytes:
    return bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in text)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_lines_are_found(seed: int) -> None:
    chance = random.Random(seed)
    marks = Marks(MARKS)
    for _ in range(20):  # words that are remembered must not change what is found
        data = b"".join(chance.choice(PIECES) for _ in range(chance.randint(0, 120)))
        assert {start: frozenset(readers) for _, start, _, readers in marks.find(data, 0, len(data)).lines()} == plain(data)


def test_only_the_part_that_is_asked_for_is_searched() -> None:
    data = b"CUDA error 1\nnothing\nCUDA error 2\n"
    assert [start for _, start, _, _ in Marks(MARKS).find(data, 13, len(data)).lines()] == [21]


def test_words_that_never_repeat_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudx.evidence.logs._marks.MOST_WORDS", 3)
    marks = Marks(MARKS)
    data = b"".join(b"#0%c%c\n" % (97 + a, 97 + b) for a in range(20) for b in range(20))
    assert len(list(marks.find(data, 0, len(data)).lines())) == 400
    assert len(marks._by_word) <= 3
