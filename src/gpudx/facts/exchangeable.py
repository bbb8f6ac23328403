"""Arguments of a kernel that can have been passed in each other's place without anybody noticing: same type, different values.

A kernel that is launched from several lines may get them in the right order from the others: each line is tried by itself, too. Calls
that set arguments are known by their own return address, or, where one function sets all of them, by that of its caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.calls_by_line import MOST_CALLS, Group, frame, groups
from gpudx.facts.set_arguments import set_at
from gpudx.lab.experiments.exchanged import FRAMES, GRID

MOST, MOST_SITES = 8, 16  # pairs, and those of one line


@dataclass(frozen=True)
class Pair:
    """Two arguments of a kernel, in all its launches or in those (rows) of one line."""

    kernel: str
    first: int
    second: int
    launches: tuple[int, ...]
    frames: str = ""  # "" of all launches
    line: str = ""  # "path:line" that leads to these, if it is known which
    grid: bool = False  # the grid was computed from the two: it is exchanged with them

    @property
    def wish(self) -> str:
        """As the recorder is asked for it (native/core/what_if.h)."""
        return f"{self.kernel}:{self.first}:{self.second}{GRID if self.grid else ''}{FRAMES if self.frames else ''}{self.frames}"


def wishes(facts: Facts) -> tuple[str, ...]:
    return tuple(one.wish for one in pairs(facts))


def pairs(facts: Facts) -> tuple[Pair, ...]:
    """The pairs that people confuse most easily first: neighbours, and buffers before numbers."""
    launches, found = facts.launches, dict[Pair, tuple[int, bool]]()
    functions = facts.kernels.functions(launches.kernel_row)
    for function in dict.fromkeys(functions[functions >= 0].tolist()):
        some = np.flatnonzero((functions == function) & (launches.status == 0))
        if len(some):
            kernel = launches.compiled_name(int(some[0]))
            for row in _different(facts, kernel, some.tolist()):
                for rank, first, second in _of_launch(facts, row):
                    found.setdefault(Pair(kernel, first, second, tuple(some.tolist())), rank)
    best = sorted(found, key=lambda one: found[one])[:MOST]
    ranked = [one for pair in best for one in (*_with_grid(facts, pair), pair)]
    alone = [one for pair in ranked for one in _by_site(facts, pair)]
    return (*ranked, *alone[:MOST_SITES])


def _with_grid(facts: Facts, pair: Pair) -> Iterator[Pair]:
    """The same with the grid, where each launch has as many groups in x and y as cover the two numbers: who passes two extents to a
    function in the wrong order gets the grid of that order, too."""
    if all(facts.launches.by_address[list(pair.launches)]) and all(_covers(facts, row, pair) for row in pair.launches[:MOST_CALLS]):
        yield replace(pair, grid=True)


def _covers(facts: Facts, row: int, pair: Pair) -> bool:
    grid, block = facts.launches.grid(row)
    given = {int(value["index"]): value for value in facts.launches.values(row) if value["object"] < 0}
    extents = [int.from_bytes(given[one]["bytes"], "little") for one in (pair.first, pair.second) if one in given]
    groups = [-(-extent // each) for extent, each in zip(extents, block, strict=False) if each]
    return len(extents) == 2 and block[0] == block[1] and grid[2] == 1 and groups in ([*grid[:2]], [*grid[1::-1]])


def _different(facts: Facts, kernel: str, rows: Sequence[int]) -> list[int]:
    """The first launch of a kernel, and the first one from each other line."""
    return list(dict.fromkeys([rows[0], *(mine[0] for _, mine in _by_line(facts, kernel, rows))]))


def _by_line(facts: Facts, kernel: str, rows: Sequence[int]) -> list[tuple[Group, tuple[int, ...]]]:
    """Launches of a kernel by the lines that lead to them."""
    by_position = {int(facts.launches.position[row]): row for row in rows}
    made = groups(facts, list(by_position), kernel)
    return [(group, tuple(by_position[position] for position in group.positions)) for group in made]


def _by_site(facts: Facts, pair: Pair) -> Iterator[Pair]:
    """The same in the launches of one line of several."""
    by_caller: dict[str, list[int]] = {}
    for row in pair.launches if len(pair.launches) <= MOST_CALLS else ():
        by_caller.setdefault(_callers(facts, row, pair), []).append(row)
    if len(by_caller) > 1:
        found = [replace(pair, launches=tuple(rows), frames=frames) for frames, rows in by_caller.items() if frames]
    else:
        lines = [(group, rows) for group, rows in _by_line(facts, pair.kernel, pair.launches) if group.wish.startswith("@")]
        found = [replace(pair, launches=rows, frames=group.wish[1:], line=group.line) for group, rows in lines]
    for one in found:
        values = {int(value["index"]): value for value in facts.launches.values(one.launches[0])}
        if values[one.first]["bytes"] != values[one.second]["bytes"]:
            yield one


def _callers(facts: Facts, row: int, pair: Pair) -> str:
    """The return addresses of the calls that set the two; "" where the launch passes them itself."""
    places = [set_at(facts, row, index) for index in (pair.first, pair.second)]
    if None in places:
        return ""
    callers = facts.trace.column("caller", np.array(places)).tolist()
    named = [frame(facts, int(caller)) for caller in dict.fromkeys(callers)]
    return ";".join(named) if all(named) else ""


def _of_launch(facts: Facts, row: int) -> Iterator[tuple[tuple[int, bool], int, int]]:
    for one, other in combinations(facts.launches.values(row), 2):
        if one["bytes"] != other["bytes"] and _alike(facts, one, other):
            yield (int(other["index"]) - int(one["index"]), one["object"] < 0), int(one["index"]), int(other["index"])


def _alike(facts: Facts, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same type; buffers of the same size, so that no access leaves one that did not before."""
    a, b = one["declared"], other["declared"]
    if a is None or b is None or (a.type, a.space, a.qualifiers, a.size) != (b.type, b.space, b.qualifiers, b.size):
        return False
    sizes = facts.objects.table["size"]
    if one["object"] >= 0 and other["object"] >= 0:
        return bool(sizes[one["object"]] == sizes[other["object"]])
    return bool(one["object"] < 0 and other["object"] < 0 and a.scalar and one["size"] == other["size"])
