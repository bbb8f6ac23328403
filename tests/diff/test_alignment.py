"""The alignment against a plain table of longest common subsequences, and against its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.simulated import times

from gpudx.diff.align import MOST_EDITS, Aligner, settled

Short = st.lists(st.integers(0, 3), max_size=24)
U64 = NDArray[np.uint64]


def numbers(values: list[int]) -> U64:
    return np.array(values, np.uint64)


def longest(a: list[int], b: list[int]) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    return int(table[-1, -1])


def check(a: U64, b: U64, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    assert (a[left] == b[right]).all() and (np.diff(left) > 0).all() and (np.diff(right) > 0).all()


@settings(deadline=None, max_examples=times(300))
@given(Short, Short)
def test_short_ones_have_the_fewest_edits(one: list[int], other: list[int]) -> None:
    a, b = numbers(one), numbers(other)
    left, right = settled(Aligner().align(a, b), a, b)
    check(a, b, left, right)
    assert len(left) == longest(one, other)


@settings(deadline=None, max_examples=20)
@given(st.integers(4, 40), st.integers(0, 300))
def test_long_ones_lose_little(kinds: int, edits: int) -> None:
    """With two or three kinds of elements a quarter of the edits may be missed; calls have more kinds."""
    lot = np.random.default_rng(kinds * 1000 + edits)
    a = lot.integers(0, kinds, 20_000).astype(np.uint64)
    b = np.delete(a, lot.integers(0, len(a), edits))
    left, right = Aligner().align(a, b)
    check(a, b, left, right)
    assert len(left) >= len(b) - edits // 10


def test_what_is_too_much_work_is_paired_in_place() -> None:
    lot = np.random.default_rng(1)
    a, b = (lot.integers(0, 50, 30_000).astype(np.uint64) for _ in range(2))
    aligner = Aligner(steps=10 * MOST_EDITS**2)
    left, right = aligner.align(a, b)
    check(a, b, left, right)
    assert not aligner.exact


def test_a_lone_element_stands_where_the_beginnings_part() -> None:
    a, b = numbers([1, 7, 7, 7, 2]), numbers([1, 7, 7, 2])
    left, right = settled((np.array([0, 2, 3, 4]), np.arange(4)), a, b)
    assert left.tolist() == [0, 1, 2, 4] and right.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [0, 1])
def test_nothing_to_align(size: int) -> None:
    left, right = Aligner().align(numbers([1] * size), numbers([]))
    assert not len(left) and not len(right)


def test_other_codes_fill_what_is_between() -> None:
    rich = (numbers([1, 2, 3, 4, 9]), numbers([1, 5, 4, 9]))
    plain = (numbers([1, 2, 2, 4, 9]), numbers([1, 2, 4, 9]))
    aligner = Aligner()
    left, right = aligner.refine(aligner.align(*rich), *plain)
    assert right.tolist() == [0, 1, 2, 3] and left.tolist()[2:] == [3, 4]
