"""Which allocation an address lies in, at a given time.

Pointers may point into the middle of an allocation, and the same addresses belong to many allocations one after the
other. Programs use few different addresses many times, so the work is done once per distinct address.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.objects import Objects

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
POINTED = ("memory", "svm")  # kinds of objects that programs name by address


class Memory:
    """Allocations as address ranges. Rows are rows of Objects."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._lives: dict[int, I64] = {}

    @cached_property
    def _ranges(self) -> tuple[I64, U64, U64, int]:
        """Rows sorted by first address, first and one-past-last addresses, and the largest size."""
        table = self._objects.table
        rows = self._objects.rows_of(*POINTED)
        rows = rows[np.argsort(table["handle"][rows], kind="stable")]
        first, size = table["handle"][rows], np.maximum(table["size"][rows], 1)
        return rows, first, first + size, int(size.max()) if len(size) else 0

    def lives(self, address: int) -> I64:
        """All allocations that ever held this address, oldest first."""
        if address not in self._lives:
            rows, first, end, largest = self._ranges
            low = int(np.searchsorted(first, np.uint64(max(address - largest, 0))))
            high = int(np.searchsorted(first, np.uint64(address), side="right"))
            holds = rows[low:high][end[low:high] > np.uint64(address)]
            self._lives[address] = holds[np.argsort(self._objects.table["since"][holds], kind="stable")]
        return self._lives[address]

    def at(self, addresses: U64, positions: I64) -> I64:
        """Row of the latest allocation that held each address at or before its position, else -1. It may be freed."""
        found = np.full(len(addresses), -1, np.int64)
        values, which = np.unique(addresses, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(values)))
        for value, end, count in zip(values.tolist(), ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            lives = self.lives(value)
            if not len(lives):
                continue
            part = order[end - count : end]
            at = np.searchsorted(self._objects.table["since"][lives], positions[part], side="right") - 1
            found[part] = np.where(at >= 0, lives[np.maximum(at, 0)], -1)
        return found

    def live(self, rows: I64, positions: I64) -> NDArray[np.bool_]:
        """Were these allocations (rows from `at`) alive at these positions? False for -1."""
        gone = np.append(self._objects.table["gone"], -1)
        return gone[rows] >= positions

    def offset(self, row: int, address: int) -> int:
        """Bytes from the allocation's start; at or past its size means past its end."""
        return address - int(self._objects.table["handle"][row])

    def neighbours(self, address: int, position: int) -> list[int]:
        """The live allocations nearest below and above an address that lies in none."""
        rows = self._ranges[0]
        alive = rows[self.live(rows, np.full(len(rows), position, np.int64))]
        alive = alive[self._objects.table["since"][alive] <= position]
        starts = self._objects.table["handle"][alive]
        at = int(np.searchsorted(starts, np.uint64(address), side="right"))
        return [int(alive[i]) for i in (at - 1, at) if 0 <= i < len(alive)]
