"""Places of memory at which several lanes meet, one of which may write.

A place is an offset of an allocation at which some use begins. Uses meet where they share a place: stretches of known
length cover all places in them, arguments of unknown reach only the one that they point to. So two parts of one pool
meet only where their bytes are known to overlap.

What is held: the places, and a number for each place and lane that meets others there. Uses are looked at some at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.accesses import WRITE
from gpudx.facts.order.happens import Happens
from gpudx.facts.union import Union
from gpudx.facts.uses import FROM, Uses
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
PLACE = 40  # bits of an offset
LANE = 32  # bits of a lane
MOST_PLACES = 64  # of one use that are looked at


@dataclass(frozen=True)
class Met:
    """Uses at crowded places, by place and by the order in which the operations can have begun.

    use     rows of Uses
    begins  the first row here of the same place
    writes  it may write
    first   the number of the place's first lane
    slot    which lane of the place it is
    lanes   lanes of the place
    """

    use: I64
    begins: I64
    writes: Bool
    first: I64
    slot: I64
    lanes: I64

    def __len__(self) -> int:
        return len(self.use)


class Crowds:
    """The crowded places, and the uses at them, stretch by stretch."""

    def __init__(self, happens: Happens, uses: Uses) -> None:
        self._happens, self._table = happens, uses.table

    def __len__(self) -> int:
        """How many pairs of a crowded place and a lane there are."""
        return len(self._lanes[0])

    def stretches(self) -> Iterator[Met]:
        """All uses, in the order in which their operations can have begun."""
        if not len(self):
            return
        rank = self._happens.rank[self._table["op"]]
        sorted_ = (rank[1:] >= rank[:-1]).all()
        order = None if sorted_ else np.argsort(rank, kind="stable")
        ends = np.searchsorted(rank if order is None else rank[order], [end for _, end in self._happens.stretches])
        del rank
        for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            if begin < end:
                yield self._meet(np.arange(begin, end) if order is None else order[begin:end])

    # ---- places ----

    def _parts(self) -> Iterator[I64]:
        for some in slices(len(self._table)):
            yield np.arange(some.start, some.stop)

    @cached_property
    def _memory(self) -> I64:
        """Objects that are used. Their numbers here take fewer bits than their rows."""
        found = Union()
        for rows in self._parts():
            found.add(self._table["memory"][rows])
        return found.all()

    def _base(self, rows: I64) -> I64:
        return np.searchsorted(self._memory, self._table["memory"][rows]) << PLACE

    @cached_property
    def _places(self) -> I64:
        found = Union()
        for rows in self._parts():
            found.add(self._base(rows) | self._table["first"][rows])
        return found.all()

    def _places_of(self, rows: I64) -> tuple[I64, I64]:
        """(place, use) of some uses."""
        table, base = self._table[rows], self._base(rows)
        low = np.searchsorted(self._places, base | table["first"])
        high = np.searchsorted(self._places, base + np.minimum(table["end"], (1 << PLACE) - 1))
        counts = np.where(table["reach"] == FROM, 1, (high - low).clip(1, MOST_PLACES))
        which = np.repeat(np.arange(len(rows)), counts)
        return low[which] + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts), rows[which]

    def _codes_of(self, rows: I64) -> tuple[I64, I64, I64]:
        """(code of place and lane, place, use) of some uses; -1 for the code where the lane is not known."""
        place, use = self._places_of(rows)
        lane = self._happens.lane[self._table["op"][use]].astype(np.int64)
        return np.where(lane >= 0, (place << LANE) | lane, -1), place, use

    # ---- crowds ----

    @cached_property
    def _lanes(self) -> tuple[I64, I64, I64]:
        """(code, number of the place's first lane, lanes of the place) of each place and lane, by code."""
        found, written = Union(), Union()
        for rows in self._parts():
            code, place, use = self._codes_of(rows)
            found.add(code[code >= 0])
            written.add(place[(self._table["how"][use] & WRITE) != 0])
        codes = found.all()
        place = codes >> LANE
        codes = codes[(_alike(place)[1] > 1) & np.isin(place, written.all())]
        return codes, *_alike(codes >> LANE)

    def _meet(self, rows: I64) -> Met:
        code, place, use = self._codes_of(rows)
        codes, first, lanes = self._lanes
        number = np.searchsorted(codes, code).clip(0, len(codes) - 1)
        here = np.flatnonzero(codes[number] == code)
        here = here[np.argsort(place[here], kind="stable")]
        place, use, number = place[here], use[here], number[here]
        writes = (self._table["how"][use] & WRITE) != 0
        begins = _alike(place)[0]
        return Met(use, begins, writes, first[number], number - first[number], lanes[number])


def _alike(numbers: I64) -> tuple[I64, I64]:
    """Of sorted numbers: where those that are the same begin, and how many they are."""
    begins = np.searchsorted(numbers, numbers)
    return begins, np.searchsorted(numbers, numbers, side="right") - begins
