"""The stretches of memory that copies and fills were given by address, as one table.

Both sides of a copy are here, the host's too. Whether an address is what its side says is decided by looking it up.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.memory import Memory
from gpudx.facts.objects import Objects
from gpudx.trace import CallInfo, Trace
from gpudx.trace.saturating import plus, times

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
READ, WRITE = 1, 2
RANGE = re.compile(r"(?P<address>\w+)\+(?P<bytes>[\w*]+)")
BOX = re.compile(
    r"(?P<address>\w+)\+box\((?P<width>[\w*]+),(?P<height>\w+),(?P<pitch>\w+)"
    r"(,(?P<first>[\w@]+)(,(?P<layers>\w+),(?P<rows>[\w@]+))?)?\)"
)
HOST_KIND, DEVICE_KIND, EITHER_KIND = 1, 2, 4  # of a side that a structure describes; 3 is an array

DTYPE = np.dtype(
    [
        ("position", "<i8"),
        ("address", "<u8"),
        ("size", "<u8"),
        ("width", "<u8"),
        ("height", "<u8"),
        ("pitch", "<u8"),
        ("first", "<u8"),
        ("layers", "<u8"),
        ("how", "u1"),
        ("device", "?"),
        ("host", "?"),
    ]
)


class Ranges:
    """One row per side of each copy or fill, by position. `object` and `live` are as of Memory.

    address, size  where it begins, and bytes from its first to its last
    width, height  bytes of a row and rows; a plain stretch is one row
    pitch, first   bytes from row to row, and the place of the first byte in its row
    layers         of rows; 1 but for copies of three dimensions
    how            READ or WRITE
    device, host   the call says that this side is device memory, or host memory; neither where it may be either
    """

    def __init__(self, trace: Trace, objects: Objects, memory: Memory) -> None:
        self._trace, self._objects, self._memory = trace, objects, memory

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def table(self) -> NDArray[np.void]:
        parts = [np.zeros(0, DTYPE)]
        for info in self._trace.calls_made:
            if info.does in ("copy", "fill"):
                parts += [self._side(info, text, how) for text, how in _sides(info)]
        table = np.concatenate(parts)
        table = table[(table["size"] > 0) & (table["address"] != 0)]
        return table[np.argsort(table["position"], kind="stable")]

    @cached_property
    def object(self) -> I64:
        return self._memory.at(self.table["address"], self.table["position"])

    @cached_property
    def live(self) -> Bool:
        return self._memory.live(self.object, self.table["position"])

    @cached_property
    def past(self) -> Bool:
        """Which reach past the end of the allocation they begin in; False where its size is not known."""
        first, sizes = (np.append(self._objects.table[n], np.uint64(0))[self.object] for n in ("handle", "size"))
        return (self.object >= 0) & (sizes > 0) & (self.table["size"] > sizes - (self.table["address"] - first))

    def at(self, position: int) -> I64:
        """The rows of one call."""
        first, last = np.searchsorted(self.table["position"], [position, position + 1])
        return np.arange(first, last)

    def pairs(self) -> tuple[I64, I64]:
        """The rows that are read and those that are written, of all copies whose two sides are here."""
        how, position = self.table["how"], self.table["position"]
        reads, writes = np.flatnonzero(how == READ), np.flatnonzero(how == WRITE)
        _, first, second = np.intersect1d(position[reads], position[writes], return_indices=True)
        return reads[first], writes[second]

    # ---- rows of one call ----

    def _side(self, info: CallInfo, text: str, how: int) -> NDArray[np.void]:
        match = BOX.fullmatch(text) or RANGE.fullmatch(text)
        kind = dict(info.fields).get(match["address"]) if match else None
        if match is None or not (kind == "address" or (kind == "pointer" and match["address"] == info.host)):
            return np.zeros(0, DTYPE)
        positions = self._trace.select(info)
        flag = self._trace.schema.flags.get("captured", 0)
        positions = positions[(self._trace.column("flags", positions) & flag) == 0]
        table = np.zeros(len(positions), DTYPE)
        table["position"], table["how"] = positions, how
        table["address"] = self._trace.field(info, match["address"], positions)
        self._measure(info, match.groupdict(), table)
        kinds = self._kinds(info, how, positions)
        table["device"], table["host"] = self._said(info, match["address"], kinds)
        return table[np.isin(kinds, (0, HOST_KIND, DEVICE_KIND, EITHER_KIND))]

    def _measure(self, info: CallInfo, terms: dict[str, str | None], table: NDArray[np.void]) -> None:
        """Fills in the sizes. From the first byte of the first row to the last of the last: what lies between counts."""

        def value(name: str, default: int) -> U64:
            term = terms.get(name)
            if term is None:
                return np.full(len(table), default, np.uint64)
            return self._trace.product(info, term, table["position"])

        table["width"] = value("width" if "width" in terms else "bytes", 0)
        for name, default in (("height", 1), ("pitch", 0), ("first", 0), ("layers", 1)):
            table[name] = value(name, default)
        rows = np.maximum(value("rows", 0), table["height"])  # of one layer, where it says so
        last_row = times(_less_one(table["height"]), table["pitch"])
        last_layer = times(_less_one(table["layers"]), times(rows, table["pitch"]))
        empty = (table["width"] == 0) | (table["height"] == 0) | (table["layers"] == 0)
        table["size"] = np.where(empty, 0, plus(plus(last_layer, last_row), table["width"]))

    def _kinds(self, info: CallInfo, how: int, positions: I64) -> U64:
        """The kind of memory that a structure names for this side, 0 for calls without one."""
        kinds = self._trace.field(info, "kinds", positions)
        return (kinds if how == READ else kinds >> np.uint64(8)) & np.uint64(255)

    def _said(self, info: CallInfo, address: str, kinds: U64) -> tuple[Bool, Bool]:
        """Is the side said to be the device's, the host's? Where one side is the host's, the other is the device's."""
        if info.word("kinds") is not None:
            return kinds == DEVICE_KIND, kinds == HOST_KIND
        host = address == info.host
        device = not host and (bool(info.host) or info.does == "fill" or address in info.device.split())
        return np.full(len(kinds), device), np.full(len(kinds), host)


def _sides(info: CallInfo) -> list[tuple[str, int]]:
    """What a call reads and writes; the host's side of a copy has the size of the other one."""
    sides = [(text, how) for text, how in ((info.reads, READ), (info.writes, WRITE)) if text]
    plain = RANGE.fullmatch(sides[0][0]) if info.host and len(sides) == 1 else None
    if plain:
        sides.append((f"{info.host}+{plain['bytes']}", READ + WRITE - sides[0][1]))
    return sides


def _less_one(values: U64) -> U64:
    return np.maximum(values, np.uint64(1)) - np.uint64(1)
