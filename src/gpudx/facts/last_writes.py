"""When memory was last written before a call, and by what, as far as the record shows it.

A launch counts for each buffer that it was passed, unless the argument is declared constant or the kernel's source shows no store to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.given_memory import uses

I64 = NDArray[np.int64]
FOR_WRITING = 2 | 4  # flags of a map: for writing, and for writing all of it
NEVER = -1


class LastWrites:
    def __init__(self, facts: Facts) -> None:
        self._facts, table = facts, uses(facts)
        self._table = table[np.isin(table["object"], facts.objects.rows_of("buffer", "image", "memory"))]
        how = self._table["how"]
        self._writes = ((how & WRITE) != 0) & ~self._only_reads() & ~self._reading_maps()
        self._by_launch = self._table["argument"] >= 0

    def _only_reads(self) -> NDArray[np.bool_]:
        """Uses by launches whose kernel does not write to this argument."""
        launches, table = self._facts.launches, self._table
        found, given = np.zeros(len(table), bool), np.flatnonzero(table["argument"] >= 0)
        if not len(given):
            return found
        kernel = launches.kernel_row[np.searchsorted(launches.position, table["position"][given])]
        pairs = np.stack([self._facts.kernels.functions(kernel), table["argument"][given]])
        _, first, which = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        known = [self._facts.kernels.only_reads(int(kernel[at]), int(pairs[1, at])) for at in first]
        found[given] = np.array(known)[which.ravel()]
        return found

    def _reading_maps(self) -> NDArray[np.bool_]:
        trace, found = self._facts.trace, np.zeros(len(self._table), bool)
        for info in trace.schema.doing("map"):
            if info.word("flags") is not None:
                positions = trace.select(info)
                reading = positions[trace.field(info, "flags", positions) & np.uint64(FOR_WRITING) == 0]
                found |= np.isin(self._table["position"], reading)
        return found

    def _of(self, obj: int) -> NDArray[np.bool_]:
        """Uses of the memory of an object; of a part of a buffer those that meet it."""
        known = self._facts.objects.table[obj]
        root = int(known["parent"]) if int(known["parent"]) >= 0 else obj
        mine = self._table["object"] == root
        if root != obj:
            begin = known["offset"]
            mine &= (self._table["begin"] < begin + known["size"]) & (begin < self._table["end"])
        found: NDArray[np.bool_] = mine
        return found

    def before(self, obj: int, position: int, *, by_launch: bool = False) -> int:
        """The position of the last write, NEVER if there is none."""
        mine = self._of(obj) & self._writes & (self._table["position"] < position)
        if by_launch:
            mine &= self._by_launch
        found = self._table["position"][mine]
        return int(found[-1]) if len(found) else NEVER

    def by_host(self, obj: int) -> bool:
        """Did the host ever put anything into it?"""
        born = self._facts.objects.table[obj]
        return bool(born["host_ptr"]) or bool((self._of(obj) & self._writes & ~self._by_launch).any())

    def used_after(self, obj: int, position: int, leaving_out: frozenset[int], *, by_host: bool = False) -> bool:
        """Was what was written at a position used by a later call, before the host replaced it?"""
        mine = np.flatnonzero(self._of(obj) & (self._table["position"] > position) & ~np.isin(self._table["position"], list(leaving_out)))
        for row in mine.tolist():
            if not by_host and self._by_launch[row]:
                return True
            if not self._by_launch[row] and (self._table["how"][row] & READ) and not self._writes[row]:
                return True
            if self._writes[row]:
                return False
        return False

    def outputs(self, obj: int) -> frozenset[tuple[int, int]]:
        """(kernel function, argument) of the launches that wrote to it."""
        launches, rows = self._facts.launches, np.flatnonzero(self._of(obj) & self._writes & self._by_launch)
        kernel = launches.kernel_row[np.searchsorted(launches.position, self._table["position"][rows])]
        functions = self._facts.kernels.functions(kernel) if len(rows) else kernel
        return frozenset(zip(functions.tolist(), self._table["argument"][rows].tolist(), strict=True))
