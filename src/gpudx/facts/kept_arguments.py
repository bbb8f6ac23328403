"""Arguments that a program set for the first launch of a kernel only, and numbers of the same name that it set anew for other kernels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.once import once

I64 = NDArray[np.int64]
MOST_LAUNCHES = 10_000
LEAST = 3  # launches in turn: fewer show no rule
LOOKED_AT = 64  # launches of one kernel


@dataclass(frozen=True)
class Kept:
    """An argument of a kernel object that was set for the first of its launches and not again. `renewed`: arguments that were."""

    launches: I64  # rows
    index: int
    setter: int  # position
    renewed: tuple[int, ...]


@dataclass(frozen=True)
class Behind:
    """A number that a kernel kept, while another kernel that is launched in turn with it, and works on the same memory, was passed another
    one under this name for each of its launches."""

    kept: Kept
    name: str
    number: int
    other: str  # kernel
    other_argument: int
    others: tuple[tuple[int, int], ...]  # for each of the launches: the row of the other kernel's launch, and its number


@once
def kept(facts: Facts) -> tuple[Kept, ...]:
    return tuple(_kept(facts)) if len(facts.launches) <= MOST_LAUNCHES else ()


def _kept(facts: Facts) -> Iterator[Kept]:
    launches, given = facts.launches, facts.set_args
    ran = np.flatnonzero((launches.status == 0) & ~launches.by_address)
    for kernel in np.unique(launches.kernel_row[ran]).tolist():
        rows = ran[launches.kernel_row[ran] == kernel]
        mine = (given.kernel_row == kernel) & (given.status == 0)
        if len(rows) < 2 or kernel < 0:
            continue
        first, position, index = int(launches.position[rows[0]]), given.position[mine], given.index[mine]
        renewed = tuple(sorted(set(index[position > first].tolist())))
        for one in sorted(set(index.tolist()) - set(renewed)):
            yield Kept(rows, one, int(position[index == one][-1]), renewed)


@once
def behind(facts: Facts) -> tuple[Behind, ...]:
    found = [_behind(facts, one) for one in kept(facts) if len(one.launches) >= LEAST]
    return tuple(one for one in found if one is not None)


def _behind(facts: Facts, one: Kept) -> Behind | None:
    launches, row = facts.launches, int(one.launches[0])
    mine = {int(value["index"]): value for value in launches.values(row)}.get(one.index)
    declared = mine["declared"] if mine else None
    if mine is None or declared is None or not declared.name or declared.is_memory or not declared.scalar:
        return None
    number = int.from_bytes(mine["bytes"], "little")
    if _is_size(facts, one, number):
        return None
    ran = np.flatnonzero((launches.status == 0) & (launches.kernel_row != launches.kernel_row[row]))
    for kernel in np.unique(launches.kernel_row[ran]).tolist():
        info = facts.kernels.info(kernel)
        same = [at for at, arg in info.args.items() if (arg.name, arg.type) == (declared.name, declared.type)] if info else []
        others = _in_turn(facts, one, ran[launches.kernel_row[ran] == kernel].tolist(), same[0]) if same else []
        numbers = [each for _, each in others]
        if numbers[:1] == [number] and number not in numbers[1:] and all(a != b for a, b in pairwise(numbers)):
            name = launches.name(others[0][0])
            return Behind(one, declared.name, number, name, same[0], tuple(others))
    return None


def _is_size(facts: Facts, one: Kept, number: int) -> bool:
    """A number of elements or of work-items stays the same by right, whatever another kernel's `n` does."""
    sizes = facts.objects.table["size"]
    for row in one.launches[:LOOKED_AT].tolist():
        items, group = facts.launches.geometry(row)
        if number > 1 and number in (*items, *group):
            return True
        for value in facts.launches.values(row):
            element = (value["declared"].element if value["declared"] else None) or 1
            if int(value["object"]) >= 0 and number > 1 and number in (sizes[value["object"]], sizes[value["object"]] // element):
                return True
    return False


def _in_turn(facts: Facts, one: Kept, others: list[int], argument: int) -> list[tuple[int, int]]:
    """The other kernel's last launch before each of these, or its first one behind it, with the number; none unless they take turns."""
    rows = one.launches[:LOOKED_AT].tolist()
    before = [others[at - 1] if (at := bisect_left(others, row)) else -1 for row in rows]
    behind = [others[at] if (at := bisect_right(others, row)) < len(others) else -1 for row in rows]
    for near in (before, behind):
        if -1 not in near and len(set(near)) == len(rows) and all(map(_shares, [facts] * len(rows), rows, near)):
            return [(at, _number(facts, at, argument)) for at in near]
    return []


def _number(facts: Facts, row: int, argument: int) -> int:
    return next((int.from_bytes(one["bytes"], "little") for one in facts.launches.values(row) if one["index"] == argument), -1)


def _shares(facts: Facts, row: int, other: int) -> bool:
    return bool(_memory(facts, row) & _memory(facts, other))


def _memory(facts: Facts, row: int) -> set[int]:
    return {int(one["object"]) for one in facts.launches.values(row) if int(one["object"]) >= 0}
