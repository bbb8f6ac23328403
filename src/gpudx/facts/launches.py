"""Launches and the arguments each was given, joined to declarations and to the objects the values name."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.declared import Declared
from gpudx.facts.kernels import KernelInfo, Kernels
from gpudx.facts.memory import Memory
from gpudx.facts.objects import Objects
from gpudx.facts.pointers import Pointers, find_pointers
from gpudx.trace import Trace

__all__ = ["Arguments", "Declared", "Launches", "SetArgs"]

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
Shape = tuple[int, ...]
WORD = 8  # bytes of a value that stand in its record
OFFSET_PART = 3  # of an OpenCL launch: the parameter global_work_offset (native/opencl/hooks.c)
SHORTEST = 4  # bytes of a value that is not found anywhere by chance


@dataclass(frozen=True)
class Arguments:
    """One row per argument of each launch. `launch` is a row of Launches, `object` the live object it names, or -1."""

    launch: I64
    index: NDArray[np.int32]
    size: NDArray[np.uint32]
    value: U64
    flags: NDArray[np.uint16]
    tail: NDArray[np.uint32]
    setter: NDArray[np.uint32]
    object: I64


class Launches:
    """One row per launch, oldest first. `captured` launches went into a graph and did not run. Columns are read when first
    asked for."""

    def __init__(self, trace: Trace, objects: Objects, kernels: Kernels, memory: Memory) -> None:
        self._trace, self._objects, self._kernels, self._memory = trace, objects, kernels, memory
        self.position = trace.select(trace.schema.doing("launch"))

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def queue(self) -> U64:
        return self._trace.words(self.position, 0)

    @cached_property
    def kernel(self) -> U64:
        return self._trace.words(self.position, 1)

    @cached_property
    def kernel_row(self) -> I64:
        return self._objects.at(self._trace.words(self.position, 1), self.position)

    @cached_property
    def status(self) -> NDArray[np.int32]:
        return self._trace.column("status", self.position)

    @cached_property
    def tid(self) -> NDArray[np.uint32]:
        return self._trace.column("tid", self.position)

    @cached_property
    def done(self) -> Bool:
        return self._trace.column("end", self.position) != 0

    @cached_property
    def captured(self) -> Bool:
        flag = self._trace.schema.flags.get("captured", 0)
        return (self._trace.column("flags", self.position) & flag) != 0

    @cached_property
    def by_address(self) -> Bool:
        """Launches of APIs whose arguments are addresses, not handles of memory objects."""
        calls = [c.number for c in self._trace.schema.doing("launch") if c.word("grid_x") is not None]
        return np.isin(self._trace.call[self.position], calls)

    def geometry(self, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Work-items in all and per group, in each dimension; a 0 means the dimension was not given.

        Some APIs are given these numbers. Others are given groups (a grid) and work-items per group (a block): there the
        first triple is their product.
        """
        if self.by_address[row]:
            grid, block = self.grid(row)
            return tuple(g * b for g, b in zip(grid, block, strict=True)), block
        words = self._trace.record(int(self.position[row]))
        names = [("global_x", "global_y", "global_z"), ("local_x", "local_y", "local_z")]
        return tuple(words[n] for n in names[0]), tuple(words[n] for n in names[1])

    def offset(self, row: int) -> tuple[int, ...]:
        """The first global id in each dimension that was given; zeros where the API has none."""
        data = self._trace.parts(int(self.position[row])).get(OFFSET_PART, b"") if not self.by_address[row] else b""
        return struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])

    def grid(self, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Groups, and work-items per group, as the launch was given them; zeros for APIs that take other numbers."""
        words = self._trace.record(int(self.position[row]))
        grid = tuple(words.get(f"grid_{axis}", 0) for axis in "xyz")
        return grid, tuple(words.get(f"block_{axis}", 0) for axis in "xyz")

    def find(
        self, kernel_name: str, grid: Shape | None = None, block: Shape | None = None, before: int | None = None
    ) -> I64:
        """Launches of a kernel (its symbol or its readable name) of this shape, made before a position; the last first.

        What is None is not compared. Launches that were refused or captured did not run and are left out.
        """
        names = self._kernels.named(kernel_name)
        fits = np.isin(self._kernels.functions(self.kernel_row), names) & (self.kernel_row >= 0)
        fits &= ((self.status == 0) | ~self.done) & ~self.captured
        if before is not None:
            fits &= self.position < before
        for shape, first in ((grid, 2), (block, 5)):
            for axis, size in enumerate(shape or ()):
                fits &= self._trace.words(self.position, first + axis) == np.uint64(size)
        return np.flatnonzero(fits)[::-1]

    def reaching(self, rows: I64, group: Shape | None, item: Shape | None) -> I64:
        """Those of `rows` whose grid has this group, and whose groups have this work-item. What is None is not asked."""
        fits = np.ones(len(rows), bool)
        for index, first in ((group, 2), (item, 5)):
            for axis, number in enumerate(index or ()):
                fits &= self._trace.words(self.position[rows], first + axis) > np.uint64(number)
        return rows[fits]

    @cached_property
    def pointers(self) -> Pointers:
        """Every pointer that a launch was given, in arguments of their own and inside structures."""
        rows = np.flatnonzero(self.by_address)
        return find_pointers(self._trace, self._memory, self.declared, self.position, self.kernel_row, rows)

    def sizes(self, rows: I64) -> list[U64]:
        """The same as six columns, global sizes first."""
        return [self._trace.words(self.position[rows], word) for word in range(2, 8)]

    def shared(self, rows: I64) -> I64:
        """Bytes of dynamic shared memory; elsewhere those of all arguments that are a size without memory."""
        args, local = self.arguments, self._trace.schema.argument_flags["local"]
        sized = np.flatnonzero((args.flags & local) != 0)
        sums = np.bincount(args.launch[sized], args.size[sized], len(self)).astype(np.int64)
        return np.where(self.by_address[rows], self._trace.words(self.position[rows], 8).astype(np.int64), sums[rows])

    def name(self, row: int) -> str:
        return self._kernels.name(int(self.kernel_row[row]))

    def compiled_name(self, row: int) -> str:
        """The name that the driver knows a launch's kernel by."""
        info = self.info(row)
        return (info.symbol or info.name) if info else self.name(row)

    def info(self, row: int) -> KernelInfo | None:
        return self._kernels.info(int(self.kernel_row[row]))

    def at_position(self, position: int) -> int | None:
        """The row of the launch made at `position`."""
        row = int(np.searchsorted(self.position, position))
        return row if row < len(self.position) and int(self.position[row]) == position else None

    def too_large(self, positions: I64) -> I64:
        """Of these calls, the launches with more work-items in a group than their kernel was compiled for."""
        return np.array([at for at in positions.tolist() if self._is_too_large(at)], np.int64)

    def _is_too_large(self, position: int) -> bool:
        row = self.at_position(position)
        info = self.info(row) if row is not None else None
        if row is None or info is None or not info.limits:
            return False
        return prod(self.geometry(row)[1]) > info.limits[0].max_work_group_size > 0

    @cached_property
    def declared(self) -> Declared:
        return Declared(self._kernels)

    @cached_property
    def arguments(self) -> Arguments:
        return self.given(np.arange(len(self)))

    def given(self, rows: I64) -> Arguments:
        """The arguments of some launches."""
        owner, raw = self._trace.arguments(self.position[rows])
        owner = rows[owner]
        given = (raw["flags"] & 1) != 0
        if not given.all():
            owner, raw = owner[given], raw[given]
        index, value = raw["index"].astype(np.int32), np.ascontiguousarray(raw["value"])
        return Arguments(
            launch=owner,
            index=index,
            size=raw["size"],
            value=value,
            flags=raw["flags"],
            tail=raw["tail"],
            setter=raw["setter"],
            object=self._named_objects(raw, index, value, owner),
        )

    def within(self, rows: I64, block: bytes) -> I64:
        """Of some launches, in their order, those whose values of 4 bytes and more all stand somewhere in a block of bytes."""
        owner, raw = self._trace.arguments(self.position[rows])
        width = np.where((raw["flags"] & 1) != 0, raw["size"].clip(0, WORD), 0)
        missing = np.zeros(len(rows), bool)
        for one in np.unique(width[width >= SHORTEST]).tolist():
            mine = width == one
            value = raw["value"][mine] & np.uint64((1 << 8 * one) - 1)
            missing[owner[mine][~np.isin(value, _windows(block, one))]] = True
        for at in np.flatnonzero((width == WORD) & (raw["size"] > WORD)).tolist():
            tail = self._trace.argument_tail(int(self.position[rows[owner[at]]]))
            missing[owner[at]] |= _whole(raw["value"][at], raw["size"][at], raw["tail"][at], tail) not in block
        return rows[~missing]

    def _named_objects(self, raw: NDArray[np.void], index: NDArray[np.int32], value: U64, owner: I64) -> I64:
        """The live memory object that each value names, -1 for numbers."""
        rows = self.kernel_row[owner]
        cells = self.declared.cells(rows, index)
        memory = self.declared.at_cells("memory", cells) | ~self.declared.at_cells("known", cells)
        maybe = np.flatnonzero((raw["size"] == 8) & memory & (value != 0))
        found = np.full(len(raw), -1, np.int64)
        addressed = self.by_address[owner[maybe]]
        given = maybe[addressed]
        maybe = maybe[~addressed]
        found[maybe] = self._objects.live_at(value[maybe], self.position[owner[maybe]])
        positions = self.position[owner[given]]
        rows = self._memory.at(value[given], positions)
        found[given] = np.where(self._memory.live(rows, positions), rows, -1)
        return found

    def values(self, row: int) -> list[dict[str, Any]]:
        """The arguments of one launch with whole values, for people."""
        args = self.arguments
        tail = self._trace.argument_tail(int(self.position[row]))
        first, last = np.searchsorted(args.launch, [row, row + 1])
        return [self._value(r, tail, self.info(row)) for r in range(int(first), int(last))]

    def _value(self, row: int, tail: bytes, info: KernelInfo | None) -> dict[str, Any]:
        args = self.arguments
        size, index = int(args.size[row]), int(args.index[row])
        declared = info.args.get(index) if info else None
        return {
            "index": index,
            "size": size,
            "bytes": _whole(args.value[row], size, args.tail[row], tail),
            "flags": int(args.flags[row]),
            "object": int(args.object[row]),
            "declared": declared,
        }


def _whole(value: Any, size: int, at: int, tail: bytes) -> bytes:
    """The bytes of a value; of one that is longer than a word the first of them, where the rest was not kept."""
    if size > WORD and int(at) + int(size) <= len(tail):
        return tail[int(at) : int(at) + int(size)]
    return int(value).to_bytes(WORD, "little")[:size]


def _windows(block: bytes, width: int) -> U64:
    """Every `width` bytes of a block, as numbers."""
    if len(block) < width:
        return np.zeros(0, np.uint64)
    found = np.zeros((len(block) - width + 1, WORD), np.uint8)
    found[:, :width] = np.lib.stride_tricks.sliding_window_view(np.frombuffer(block, np.uint8), width)
    return np.unique(found.view("<u8"))


class SetArgs:
    """One row per argument that was set, oldest first. Columns are read when first asked for."""

    def __init__(self, trace: Trace, objects: Objects, kernels: Kernels) -> None:
        self._trace, self._objects, self._kernels = trace, objects, kernels
        self.position = trace.select(trace.schema.doing("set_arg"))

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def kernel(self) -> U64:
        return self._trace.words(self.position, 0)

    @cached_property
    def index(self) -> I64:
        return self._trace.words(self.position, 1).astype(np.int64)

    @cached_property
    def size(self) -> I64:
        return self._trace.words(self.position, 2).astype(np.int64)

    @cached_property
    def pointer(self) -> U64:
        """Where the program's value stood."""
        return self._trace.words(self.position, 3)

    @cached_property
    def value(self) -> U64:
        """The first 8 bytes of it."""
        return self._trace.words(self.position, 4)

    @cached_property
    def tid(self) -> NDArray[np.uint32]:
        return self._trace.column("tid", self.position)

    @cached_property
    def status(self) -> NDArray[np.int32]:
        return self._trace.column("status", self.position)

    @cached_property
    def done(self) -> Bool:
        return self._trace.column("end", self.position) != 0

    @cached_property
    def kernel_row(self) -> I64:
        return self._objects.at(self.kernel, self.position)

    @cached_property
    def svm(self) -> Bool:
        """Set as a pointer to shared virtual memory, not as a memory object."""
        calls = [c.number for c in self._trace.schema.doing("set_arg") if c.name.endswith("SVMPointer")]
        return np.isin(self._trace.call[self.position], calls)

    @cached_property
    def declared(self) -> Declared:
        return Declared(self._kernels)

    @cached_property
    def _cells(self) -> I64:
        return self.declared.cells(self.kernel_row, self.index)

    def declares(self, name: str) -> NDArray[Any]:
        """Column `name` of the declaration of each argument that was set."""
        return self.declared.at_cells(name, self._cells)
