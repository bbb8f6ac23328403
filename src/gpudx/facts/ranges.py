"""The stretches of memory that copies and fills were given by address, as one table.

Sides that are said to be host memory are here too where the same call may be given either kind; whether an address is
the host's is decided by looking it up.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.memory import Memory
from gpudx.trace import CallInfo, Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
READ, WRITE = 1, 2
RANGE = re.compile(r"(?P<address>\w+)\+(?P<bytes>[\w*]+)")
BOX = re.compile(r"(?P<address>\w+)\+box\((?P<width>[\w*]+),(?P<height>\w+),(?P<pitch>\w+)\)")
DEVICE_KIND = 2  # of a side of a copy that is described by a structure: 1 host, 2 device, 3 array, 4 either

DTYPE = np.dtype([("position", "<i8"), ("address", "<u8"), ("size", "<u8"), ("how", "u1"), ("device", "?")])


class Ranges:
    """One row per side of each copy or fill: where it begins, how many bytes from its first to its last, and whether
    the call says that it is device memory. `object` and `live` are as of Memory."""

    def __init__(self, trace: Trace, memory: Memory) -> None:
        self._trace, self._memory = trace, memory

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def table(self) -> NDArray[np.void]:
        parts = [np.zeros(0, DTYPE)]
        for info in self._trace.schema.calls:
            for text, how in ((info.reads, READ), (info.writes, WRITE)):
                if text and info.does in ("copy", "fill"):
                    parts.append(self._of_call(info, text, how))
        table = np.concatenate(parts)
        table = table[(table["size"] > 0) & (table["address"] != 0)]
        return table[np.argsort(table["position"], kind="stable")]

    @cached_property
    def object(self) -> I64:
        return self._memory.at(self.table["address"], self.table["position"])

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        return self._memory.live(self.object, self.table["position"])

    def _of_call(self, info: CallInfo, text: str, how: int) -> NDArray[np.void]:
        box, plain = BOX.fullmatch(text), RANGE.fullmatch(text)
        match = box or plain
        if match is None or dict(info.fields).get(match["address"]) != "address":
            return np.zeros(0, DTYPE)
        positions = self._trace.select(info)
        flag = self._trace.schema.flags.get("captured", 0)
        positions = positions[(self._trace.column("flags", positions) & flag) == 0]
        table = np.zeros(len(positions), DTYPE)
        table["position"], table["how"] = positions, how
        table["address"] = self._trace.field(info, match["address"], positions)
        table["device"] = self._says_device(info, how, positions)
        table["size"] = self._box(info, box, positions) if box else self._plain(info, match["bytes"], positions)
        return table[self._addressed(info, how, positions)]

    def _plain(self, info: CallInfo, expression: str, positions: I64) -> U64:
        return self._trace.product(info, expression, positions)

    def _box(self, info: CallInfo, box: re.Match[str], positions: I64) -> U64:
        """From the first byte of the first row to the last of the last; of several layers only the first is known."""
        width = self._trace.product(info, box["width"], positions)
        height, pitch = (self._trace.field(info, box[name], positions) for name in ("height", "pitch"))
        empty = (width == 0) | (height == 0)
        return np.where(empty, np.uint64(0), (np.maximum(height, np.uint64(1)) - np.uint64(1)) * pitch + width)

    def _kinds(self, info: CallInfo, how: int, positions: I64) -> U64:
        """The kind of memory that a structure names for this side, 0 for calls without one."""
        kinds = self._trace.field(info, "kinds", positions)
        return (kinds if how == READ else kinds >> np.uint64(8)) & np.uint64(255)

    def _addressed(self, info: CallInfo, how: int, positions: I64) -> NDArray[np.bool_]:
        return np.isin(self._kinds(info, how, positions), (0, DEVICE_KIND, 4))

    def _says_device(self, info: CallInfo, how: int, positions: I64) -> NDArray[np.bool_]:
        """Calls that name one side as the host's, and fills, are given device memory on the other; calls that take
        either kind on both sides say nothing."""
        if info.word("kinds") is not None:
            return self._kinds(info, how, positions) == DEVICE_KIND
        return np.full(len(positions), bool(info.host) or info.does == "fill")
