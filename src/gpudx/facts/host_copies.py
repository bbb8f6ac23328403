"""The host memory that copies and fills work on until they are done.

Two kinds of it are here. Where a call says whether it blocks, any memory: without blocking, the driver may touch it until
the command is complete (OpenCL 3.0 API specification, "Reading, Writing and Copying Buffer Objects"). Elsewhere only memory
that devices reach by themselves, allocated or registered for it: copies of other memory are staged, or have ended when the
call returns (CUDA driver API reference, "API synchronization behavior").
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.objects import FAMILIES, HOST_FAMILIES, Objects
from gpudx.facts.order.waits import is_queued
from gpudx.facts.ranges import READ, WRITE, Ranges
from gpudx.trace import CallInfo, Trace

I64 = NDArray[np.int64]
DTYPE = np.dtype(
    [
        ("position", "<i8"),
        ("address", "<u8"),
        ("size", "<u8"),
        ("how", "u1"),
        ("object", "<i8"),
        ("blocking", "?"),
        ("stack", "<u8"),
        ("event", "<u8"),
    ]
)


class HostCopies:
    """One row per stretch of host memory, by position.

    size     bytes, 0 where there are several rows, with gaps that others may use
    how      READ or WRITE: what the copy does to the host's memory
    object   the allocation or registration that it lies in, -1 for ordinary memory
    blocking the call returned only when the copy was done
    stack    the caller's stack pointer, 0 if not recorded
    event    the event that tells of its end, 0 if none was asked for
    """

    def __init__(self, trace: Trace, objects: Objects, ranges: Ranges) -> None:
        self._trace, self._objects, self._ranges = trace, objects, ranges

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def table(self) -> NDArray[np.void]:
        calls = [c for c in self._trace.schema.doing("copy") if c.host and c.word("blocking") is not None]
        table = np.concatenate([self._reachable(), *(self._either(c) for c in calls)])
        return table[np.argsort(table["position"], kind="stable")]

    def again_from(self, position: int) -> I64:
        """Positions of later copies from the host memory that the copy at `position` reads."""
        mine = self.table[(self.table["position"] == position) & (self.table["how"] == READ)]
        if not len(mine):
            return np.zeros(0, np.int64)
        same = (self.table["address"] == mine[0]["address"]) & (self.table["how"] == READ) & (self.table["position"] > position)
        found: I64 = self.table["position"][same]
        return found

    def _reachable(self) -> NDArray[np.void]:
        """Host memory that devices reach, in copies and fills."""
        found, ranges = self._ranges.table, self._ranges
        queued = np.array([is_queued(c) for c in self._trace.schema.calls], bool)
        keep = ranges.live.copy()
        family = np.append(self._objects.table["family"], 0)[ranges.object]
        keep &= np.isin(family, [FAMILIES.index(f) for f in HOST_FAMILIES])
        keep &= self._trace.column("status", found["position"]) == 0
        table = np.zeros(int(keep.sum()), DTYPE)
        for name in ("position", "address", "how"):
            table[name] = found[name][keep]
        plain = (found["height"] <= 1) & (found["layers"] <= 1)
        table["size"] = np.where(plain, found["size"], 0)[keep]
        table["object"], table["blocking"] = ranges.object[keep], ~queued[self._trace.call[table["position"]]]
        return table

    def _either(self, info: CallInfo) -> NDArray[np.void]:
        """Host memory of a call that is told whether to wait."""
        positions = self._trace.select(info)
        positions = positions[self._trace.column("status", positions) == 0]
        table = np.zeros(len(positions), DTYPE)
        table["position"], table["object"], table["how"] = positions, -1, WRITE if info.reads else READ
        table["address"] = self._trace.field(info, info.host, positions)
        table["size"] = self._trace.field(info, "size", positions)
        table["blocking"] = self._trace.field(info, "blocking", positions) != 0
        table["stack"], table["event"] = (self._trace.field(info, name, positions) for name in ("stack", "event"))
        return table[table["address"] != 0]
