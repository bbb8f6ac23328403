"""Calls of one name, grouped by the lines of the program that led to them, and numbered as the recorder numbers them.

A function that copies from one buffer to another may be called for two directions: all calls of its line are a group, and so are those
of each line that calls it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.transfers import Transfers
from gpudx.trace import CallInfo

MOST_CALLS = 4096  # of one name
DEPTH = 4  # lines of a stack
ALL = "all"


@dataclass(frozen=True)
class Group:
    """Calls that one line of the program leads to. `line`: "path:line", "" where it is not known; `wish`: their numbers."""

    name: str
    positions: tuple[int, ...]
    line: str
    wish: str


def by_line(facts: Facts, info: CallInfo) -> list[Group]:
    """All different groups, the innermost lines first."""
    positions = facts.trace.select(info).tolist()
    if not positions or len(positions) > MOST_CALLS:
        return []
    chains, found = _chains(facts, positions), dict[tuple[int, ...], Group]()
    for depth in range(DEPTH):
        parts: dict[Hashable, list[int]] = {}
        for number, chain in enumerate(chains, 1):
            parts.setdefault(chain[: depth + 1], []).append(number)
        for chain, numbers in parts.items():
            assert isinstance(chain, tuple)
            group = _group(info.name, positions, numbers, chain[depth] if len(chain) > depth else "")
            if group.wish:
                found.setdefault(tuple(numbers), group)
    return list(found.values())


def _group(name: str, positions: list[int], numbers: list[int], line: str) -> Group:
    mine = Transfers(tuple(positions[number - 1] for number in numbers), tuple(numbers))
    return Group(name, mine.positions, line, ALL if len(numbers) == len(positions) else mine.ranges)


def _chains(facts: Facts, positions: list[int]) -> list[tuple[str, ...]]:
    """The lines that led to each call; each different stack is looked up once."""
    known: dict[Hashable, tuple[str, ...]] = {}
    found = []
    for position, caller in zip(positions, facts.trace.column("caller", np.array(positions)).tolist(), strict=True):
        stack = facts.stacks.at(position)
        key = (caller, stack.addresses, stack.python) if stack else caller
        if key not in known:
            known[key] = facts.sites.chain(position)[:DEPTH] or (f"{caller:#x}",)
        found.append(known[key])
    return found


def all_have_stacks(facts: Facts, calls: Iterator[CallInfo]) -> bool:
    """Does the record say where each of these calls was made from? Of a Python program the frames are asked for only where all calls are
    to have them."""
    of_python = "/python3" in facts.trace.maps
    for position in (at for info in calls for at in facts.trace.select(info).tolist()):
        stack = facts.stacks.at(position)
        if stack is None or (of_python and not stack.python):
            return False
    return True
