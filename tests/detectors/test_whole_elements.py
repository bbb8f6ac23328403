"""A kernel writes whole elements outside its block, also where a byte of one equals the pattern that was there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpudx.detectors._given import Given
from gpudx.detectors.write_outside_allocation import _in_elements
from gpudx.facts.fences import Damage


def damage(offset: int, count: int, size: int) -> Damage:
    block: Any = SimpleNamespace(size=size)
    return Damage(block, offset, count, seen=7, since=0, position=9)


@pytest.mark.parametrize(
    ("element", "size", "seen", "whole"),
    [
        (4, 4096, (4096, 3), (4096, 4)),  # the last byte equals the pattern
        (4, 4096, (4097, 3), (4096, 4)),  # the first one
        (4, 4096, (-3, 3), (-4, 4)),
        (4, 4096, (4096, 8), (4096, 8)),
        (4, 1001, (1001, 3), (1001, 3)),  # the rest of an element that begins inside
        (1, 1001, (1003, 1), (1003, 1)),
        (None, 4096, (4096, 3), (4096, 3)),  # of what it consists is not known
    ],
)
def test_whole_elements(element: int | None, size: int, seen: tuple[int, int], whole: tuple[int, int]) -> None:
    info = SimpleNamespace(args={1: SimpleNamespace(element=element)})
    facts: Any = SimpleNamespace(launches=SimpleNamespace(at_position=lambda at: 0, info=lambda row: info))
    found = _in_elements(facts, damage(*seen, size), Given(5, 1))
    assert (found.offset, found.bytes) == whole
