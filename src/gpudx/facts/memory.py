"""Which allocation an address lies in, at a given time.

Pointers may point into the middle of an allocation, and the same addresses belong to many allocations one after the
other. Programs use few different addresses many times, so the work is done once per distinct address. Ranges are kept
in classes of like size, so that one large allocation does not make every search look at thousands of small ones.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.objects import POINTED, Objects

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
OVERLAPPING = 4  # so many earlier lives of an address are asked when the latest is over
NONE = np.zeros(0, np.int64)


class Memory:
    """Allocations as address ranges. Rows are rows of Objects."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._lives: dict[int, I64] = {}

    # ---- ranges ----

    @cached_property
    def rows(self) -> I64:
        """All allocations, by first address."""
        rows = self._objects.rows_of(*POINTED)
        rows = rows[self._objects.table["born"][rows] >= 0]
        return rows[np.argsort(self._objects.table["handle"][rows], kind="stable")]

    @cached_property
    def _first(self) -> U64:
        return self._objects.table["handle"][self.rows]

    @cached_property
    def _end(self) -> U64:
        return self._first + np.maximum(self._objects.table["size"][self.rows], np.uint64(1))

    @cached_property
    def _classes(self) -> list[tuple[I64, U64, U64, int]]:
        """Rows, first addresses, ends and the largest size of the allocations of each power of two."""
        if not len(self.rows):
            return []
        power = np.log2((self._end - self._first).astype(np.float64)).astype(np.int64)
        found = []
        for one in np.unique(power):
            mine = power == one
            first, end = self._first[mine], self._end[mine]
            found.append((self.rows[mine], first, end, int((end - first).max())))
        return found

    def maybe(self, addresses: U64) -> Bool:
        """Which numbers can be addresses of recorded memory at all: a quick screen."""
        if not len(self.rows):
            return np.zeros(len(addresses), bool)
        return (addresses >= self._first[0]) & (addresses < self._end.max())

    def lives(self, address: int) -> I64:
        """All allocations that ever held this address, oldest first."""
        if address not in self._lives:
            found = [self._holding(address, *one) for one in self._classes]
            rows = np.concatenate(found) if found else NONE
            self._lives[address] = rows[np.argsort(self._objects.table["since"][rows], kind="stable")]
        return self._lives[address]

    @staticmethod
    def _holding(address: int, rows: I64, first: U64, end: U64, largest: int) -> I64:
        low = int(np.searchsorted(first, np.uint64(max(address - largest + 1, 0))))
        high = int(np.searchsorted(first, np.uint64(address), side="right"))
        return rows[low:high][end[low:high] > np.uint64(address)]

    # ---- by time ----

    def at(self, addresses: U64, positions: I64) -> I64:
        """Row of the allocation that holds each address at its position: a live one if there is one, else the latest
        that did before (which is freed), else -1."""
        found = np.full(len(addresses), -1, np.int64)
        some = np.flatnonzero(self.maybe(addresses))
        some = self._settle(found, addresses, positions, some)
        values, which = np.unique(addresses[some], return_inverse=True)
        order = some[np.argsort(which.reshape(-1), kind="stable")]
        ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(values)))
        for value, end, count in zip(values.tolist(), ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            lives = self.lives(value)
            if len(lives):
                part = order[end - count : end]
                found[part] = self._by_time(lives, positions[part])
        return found

    @cached_property
    def _alone(self) -> tuple[Bool, U64]:
        """Which allocations share no address with any other, ever; and how far any up to each of them reaches."""
        reach = np.maximum.accumulate(self._end) if len(self.rows) else self._end
        before = np.append(np.uint64(0), reach[:-1]) <= self._first
        after = np.append(self._first[1:], np.iinfo(np.uint64).max) >= self._end
        return before & after, reach

    def _settle(self, found: I64, addresses: U64, positions: I64, some: I64) -> I64:
        """Fills in what needs no search by time: addresses in no allocation, or in one that shares none. Gives the rest."""
        if not len(some):
            return some
        alone, reach = self._alone
        place = np.searchsorted(self._first, addresses[some], side="right") - 1
        inside = reach[place] > addresses[some]
        sure = alone[place] & inside
        rows, where = self.rows[place[sure]], some[sure]
        found[where] = np.where(self._objects.table["since"][rows] <= positions[where], rows, -1)
        return some[inside & ~sure]

    def _by_time(self, lives: I64, positions: I64) -> I64:
        latest = np.searchsorted(self._objects.table["since"][lives], positions, side="right") - 1
        rows = np.where(latest >= 0, lives[np.maximum(latest, 0)], -1)
        for back in range(1, min(OVERLAPPING, len(lives))):
            earlier = lives[np.maximum(latest - back, 0)]
            better = ~self.live(rows, positions) & (latest >= back) & self.live(earlier, positions)
            rows = np.where(better, earlier, rows)
        return rows

    def one(self, address: int, position: int) -> int:
        """The same for a single address."""
        return int(self.at(np.array([address], np.uint64), np.array([position], np.int64))[0])

    def live(self, rows: I64, positions: I64) -> Bool:
        """Were these allocations (rows from `at`) alive at these positions? False for -1."""
        gone = np.append(self._objects.table["gone"], -1)
        return gone[rows] >= positions

    # ---- one address ----

    def offset(self, row: int, address: int) -> int:
        """Bytes from the allocation's start; at or past its size means past its end."""
        return address - int(self._objects.table["handle"][row])

    def ends_at(self, address: int, position: int) -> int:
        """The live allocation that ends right before an address, -1 if none: such an address may be meant as its end."""
        row = self.one(address - 1, position) if address else -1
        if row < 0 or not self.live(np.array([row]), np.array([position]))[0]:
            return -1
        return row if self.offset(row, address) == int(self._objects.table["size"][row]) else -1

    def neighbours(self, address: int, position: int) -> list[int]:
        """The live allocations nearest below and above an address that lies in none."""
        alive = self.rows[self.live(self.rows, np.full(len(self.rows), position, np.int64))]
        alive = alive[self._objects.table["since"][alive] <= position]
        at = int(np.searchsorted(self._objects.table["handle"][alive], np.uint64(address), side="right"))
        return [int(alive[i]) for i in (at - 1, at) if 0 <= i < len(alive)]

    def describe(self, row: int) -> str:
        """ "memory #4 (1,024 bytes)"."""
        size = int(self._objects.table["size"][row])
        return f"{self._objects.label(row)} ({size:,} {'byte' if size == 1 else 'bytes'})"
