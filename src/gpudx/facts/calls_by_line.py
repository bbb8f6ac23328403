"""Calls of one name, grouped by the lines of the program that led to them, and numbered as the recorder numbers them.

A function that copies from one buffer to another may be called for two directions: all calls of its line are a group, and so are those
of each line that calls it. A program does other things once something is changed, and the numbers of its calls shift: where return
addresses tell a group's calls from all others, the recorder is told those.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.maps import Mapping, parse_maps
from gpudx.facts.once import once
from gpudx.facts.transfers import Transfers
from gpudx.trace import CallInfo

MOST_CALLS = 4096  # of one name
DEPTH = 4  # lines of a stack
MOST_FRAMES = 8  # that the recorder reads
ALL = "all"


@dataclass(frozen=True)
class Group:
    """Calls that one line of the program leads to. `line`: "path:line", "" where it is not known; `wish`: how the recorder knows them."""

    name: str
    positions: tuple[int, ...]
    line: str
    wish: str


def by_line(facts: Facts, info: CallInfo) -> list[Group]:
    """Of all calls of one name: all different groups, the innermost lines first."""
    return groups(facts, facts.trace.select(info).tolist(), info.name)


def groups(facts: Facts, positions: list[int], name: str) -> list[Group]:
    """The same of other calls, all of those that the recorder counts under this name."""
    if not positions or len(positions) > MOST_CALLS:
        return []
    chains, found, told = _chains(facts, positions), dict[tuple[int, ...], Group](), _Frames(facts, positions)
    for depth in range(DEPTH):
        parts: dict[tuple[str, ...], list[int]] = {}
        for number, chain in enumerate(chains, 1):
            parts.setdefault(chain[: depth + 1], []).append(number)
        for chain, numbers in parts.items():
            if tuple(numbers) not in found:
                mine = Transfers(tuple(positions[number - 1] for number in numbers), tuple(numbers))
                wish = ALL if len(numbers) == len(positions) else told.apart(mine.positions) or mine.ranges
                found[tuple(numbers)] = Group(name, mine.positions, chain[depth] if len(chain) > depth else "", wish)
    return [group for group in found.values() if group.wish]


class _Frames:
    """The return addresses on the stacks of calls."""

    def __init__(self, facts: Facts, positions: list[int]) -> None:
        self._facts = facts
        stacks = ((position, facts.stacks.at(position)) for position in positions)
        self._stacks = {position: frozenset(stack.addresses if stack else ()) for position, stack in stacks}

    def apart(self, positions: Sequence[int]) -> str:
        """ "@app+1a2b;app+1c0d": addresses on the stacks of these calls, each on one at least, and on no others; "": there are none."""
        inside = {self._stacks[one] for one in positions}
        others = frozenset[int]().union(*(stack for one, stack in self._stacks.items() if one not in set(positions)))
        chosen: list[str] = []
        while inside and len(chosen) < MOST_FRAMES:
            left = frozenset[int]().union(*inside) - others
            best = max(sorted(left), key=lambda address: sum(address in stack for stack in inside), default=0)
            place = frame(self._facts, best) if best else ""
            if not place:
                return ""
            chosen.append(place)
            inside = {stack for stack in inside if best not in stack}
        return f"@{';'.join(chosen)}" if not inside else ""


def frame(facts: Facts, address: int) -> str:
    """The file's name, and how far the address is from where it is mapped: as the recorder knows it (native/core/what_if.h)."""
    mapping = facts.symbols.mapping(address)
    if mapping is None or not mapping.is_file or set(mapping.path) & set("=;+"):
        return ""
    first = next(one.start for one in _maps(facts) if one.path == mapping.path)
    return f"{os.path.basename(mapping.path)}+{address - first:x}"


@once
def _maps(facts: Facts) -> list[Mapping]:
    return parse_maps(facts.trace.maps)


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
