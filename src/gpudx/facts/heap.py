"""Blocks of the program's heap, where a run logged them (native/heap/heap.c)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.trace import Trace

ENTRY = np.dtype([("ticks", "<u8"), ("address", "<u8"), ("size", "<u8"), ("caller", "<u8"), ("what", "<u8")])
ALLOCATED, FREED = 1, 2
NEVER = (1 << 64) - 1


@dataclass(frozen=True)
class Block:
    """One life of a block: its memory, from when to when it lived (in ticks), and the code that allocated and freed it."""

    address: int
    size: int
    made: int
    freed: int
    maker: int  # an address of code
    freer: int


class Heap:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def log(self) -> NDArray[np.void]:
        """Entries by time."""
        path = self._trace.path.parent / f"heap-{self._trace.pid}"
        try:
            table = np.memmap(path, ENTRY, "r")
        except (OSError, ValueError):
            return np.zeros(0, ENTRY)
        end = int(np.argmin(table["what"] != 0)) if not table["what"].all() else len(table)
        log = np.array(table[:end])
        return log[np.argsort(log["ticks"], kind="stable")]

    @property
    def logged(self) -> bool:
        return len(self.log) > 0

    def block(self, address: int, ticks: int) -> Block | None:
        """The block that an address lay in at a time."""
        log = self.log[: int(np.searchsorted(self.log["ticks"], np.uint64(ticks)))]
        near = log["address"] <= np.uint64(address)
        inside = near & (log["what"] == ALLOCATED) & (np.uint64(address) - log["address"] < log["size"])
        rows = np.flatnonzero(inside)
        if not len(rows):
            return None
        last = int(rows[-1])
        begin, size = int(log["address"][last]), int(log["size"][last])
        end = self._end(begin, last)
        if end is not None and int(self.log["ticks"][end]) <= ticks:
            return None
        return Block(
            begin,
            size,
            int(log["ticks"][last]),
            int(self.log["ticks"][end]) if end is not None else NEVER,
            int(log["caller"][last]),
            int(self.log["caller"][end]) if end is not None else 0,
        )

    def _end(self, begin: int, row: int) -> int | None:
        """The entry that freed the block that entry `row` allocated."""
        rows = np.flatnonzero((self.log["address"] == np.uint64(begin)) & (self.log["what"] == FREED))
        rows = rows[rows > row]
        return int(rows[0]) if len(rows) else None
