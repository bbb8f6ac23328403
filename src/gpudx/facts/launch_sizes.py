"""Launches that end before a number that the kernel is passed, or before the end of a buffer, by less than one group: such as 39 groups
of 256 for 10,000 elements. The number of groups may have been rounded down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpudx.facts import Facts

MOST_LAUNCHES = 64  # of one line that are looked at


@dataclass(frozen=True)
class Grid:
    """`number`: what the groups do not cover, and what it is."""

    axis: int
    groups: int
    group: int
    number: int
    what: str

    @property
    def wanted(self) -> int:
        return self.groups + 1


def grids(facts: Facts, positions: Iterable[int]) -> Iterator[Grid]:
    """For launches of one kernel and line, each different one."""
    found: dict[tuple[int, int], Grid] = {}
    for position in list(positions)[:MOST_LAUNCHES]:
        row = facts.launches.at_position(position)
        for one in _of_launch(facts, row) if row is not None else ():
            found.setdefault((one.axis, one.groups), one)
    yield from found.values()


def _of_launch(facts: Facts, row: int) -> Iterator[Grid]:
    groups, group = facts.launches.grid(row)
    for number, what in _numbers(facts, row, flat=groups[1:] == (1, 1)):
        for axis in range(3):
            if group[axis] > 1 and groups[axis] * group[axis] < number < (groups[axis] + 1) * group[axis]:
                yield Grid(axis, groups[axis], group[axis], number, what)


def _numbers(facts: Facts, row: int, *, flat: bool) -> Iterator[tuple[int, str]]:
    """Integers that a launch is passed; and, if it has one dimension, the elements of its buffers."""
    values = [value for value in facts.launches.values(row) if value["declared"] is not None]
    for value in values:
        if value["object"] < 0 and value["size"] in (4, 8) and value["declared"].scalar in ("int", "uint", "long", "ulong"):
            yield int.from_bytes(value["bytes"], "little"), f"argument {value['index']}"
    for value in values if flat else ():
        if value["object"] >= 0 and (element := value["declared"].element):
            size = int(facts.objects.table["size"][value["object"]])
            yield size // element, f"the number of elements of argument {value['index']}"
