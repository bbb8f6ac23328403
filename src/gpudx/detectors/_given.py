"""Which launches were given a memory object, as such or as a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts


@dataclass(frozen=True)
class Given:
    """A launch (its position) and the argument through which it has the object; `part` is a row of Objects or -1."""

    position: int
    argument: int
    part: int


def given(facts: Facts, positions: Iterable[int], row: int) -> list[Given]:
    """Those of the launches at `positions` that name the object `row`, dead or alive, one argument each."""
    found = []
    for position in positions:
        launch = facts.launches.at_position(position)
        hit = _argument(facts, launch, position, row) if launch is not None else None
        if hit is not None:
            found.append(hit)
    return found


def _argument(facts: Facts, launch: int, position: int, row: int) -> Given | None:
    args = facts.launches.arguments
    first, last = np.searchsorted(args.launch, [launch, launch + 1])
    mine = np.arange(int(first), int(last))
    mine = mine[args.size[mine] == 8]
    objects = facts.objects.at(args.value[mine], np.full(len(mine), position, np.int64))
    for arg, obj in zip(mine.tolist(), objects.tolist(), strict=True):
        parent = int(facts.objects.table["parent"][obj]) if obj >= 0 else -1
        if obj >= 0 and row in (obj, parent):
            return Given(position, int(args.index[arg]), obj if obj != row else -1)
    return None
