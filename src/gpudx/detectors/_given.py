"""Which launches were given a fenced block, as such or as a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.fences import Fenced

NEAR = 4096  # a pointer that lies no farther outside may be meant for the block too


@dataclass(frozen=True)
class Given:
    """A launch (its position) and the argument through which it has the block; `part` is a row of Objects or -1."""

    position: int
    argument: int
    part: int = -1


def given(facts: Facts, positions: Iterable[int], block: Fenced) -> list[Given]:
    """Those of the launches at `positions` that name the block, dead or alive, one argument each."""
    found = []
    for position in positions:
        launch = facts.launches.at_position(position)
        if launch is not None:
            how = _by_address if facts.launches.by_address[launch] else _by_handle
            found += list(how(facts, launch, position, block))[:1]
    return found


def _arguments(facts: Facts, launch: int) -> range:
    first, last = np.searchsorted(facts.launches.arguments.launch, [launch, launch + 1])
    return range(int(first), int(last))


def _by_handle(facts: Facts, launch: int, position: int, block: Fenced) -> Iterator[Given]:
    args = facts.launches.arguments
    mine = np.array(_arguments(facts, launch), np.int64)
    mine = mine[args.size[mine] == 8]
    objects = facts.objects.at(args.value[mine], np.full(len(mine), position, np.int64))
    for arg, obj in zip(mine.tolist(), objects.tolist(), strict=True):
        parent = int(facts.objects.table["parent"][obj]) if obj >= 0 else -1
        if obj >= 0 and block.object in (obj, parent):
            yield Given(position, int(args.index[arg]), obj if obj != block.object else -1)


def _by_address(facts: Facts, launch: int, position: int, block: Fenced) -> Iterator[Given]:
    """A pointer into the block, else one that lies right outside."""
    pointers, args = facts.launches.pointers, facts.launches.arguments
    for pointer in pointers.of(launch):
        if block.object >= 0 and pointers.object[pointer] == block.object:
            yield Given(position, int(pointers.index[pointer]))
    low, high = block.address - NEAR, block.address + block.size + NEAR
    for arg in _arguments(facts, launch):
        if low <= int(args.value[arg]) < high:
            yield Given(position, int(args.index[arg]))
