"""Launches and the arguments each was given, joined to declarations and to the objects the values name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.kernels import ArgInfo, KernelInfo, Kernels
from gpudx.facts.objects import Objects
from gpudx.trace import Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]


class Declared:
    """Per-argument declarations as columns: what was declared for (kernel object row, argument index)."""

    COLUMNS = (
        ("size", np.int64, -1),
        ("memory", bool, False),
        ("read_only", bool, False),
        ("known", bool, False),
        ("pointer", bool, False),
    )

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self.functions = kernels.of_functions
        self.width = max((max(i.args, default=-1) + 1 for i in self.functions if i), default=0) or 1
        self.tables = {n: np.full((len(self.functions), self.width), fill, kind) for n, kind, fill in self.COLUMNS}
        for number, info in enumerate(self.functions):
            for index, arg in (info.args if info else {}).items():
                self._put(number, index, arg)

    def _put(self, number: int, index: int, arg: ArgInfo) -> None:
        values = {
            "size": -1 if arg.size is None else arg.size,
            "memory": arg.is_memory,
            "read_only": arg.read_only,
            "known": True,
            "pointer": "*" in arg.type,
        }
        for name, value in values.items():
            self.tables[name][number, index] = value

    def get(self, name: str, rows: I64, indexes: NDArray[Any]) -> NDArray[Any]:
        """Column `name` for each (kernel row, argument index); the fill value where nothing is declared."""
        return self.at_cells(name, self.cells(rows, indexes))

    def at_cells(self, name: str, cells: I64) -> NDArray[Any]:
        """The same for cells that were worked out before: several columns for the same rows cost one lookup each."""
        fill = next(f for n, _, f in self.COLUMNS if n == name)
        return np.take(self._padded(name, fill), cells)

    def _padded(self, name: str, fill: Any) -> NDArray[Any]:
        """The table as one line with the fill value at its end, for whatever is not declared."""
        return np.append(self.tables[name].ravel(), np.array([fill], self.tables[name].dtype))

    def cells(self, rows: I64, indexes: NDArray[Any]) -> I64:
        """Where (kernel row, argument index) stands in the tables; one past the end for what is not declared."""
        number = self._kernels.functions(rows)
        outside = (number < 0) | (indexes >= self.width) | (indexes < 0)
        return np.where(outside, len(self.functions) * self.width, number * self.width + indexes)

    def arguments(self, rows: I64) -> I64:
        """How many arguments each kernel row declares, -1 if unknown."""
        declared = np.array([*(i.num_args if i else -1 for i in self.functions), -1], np.int64)
        return declared[self._kernels.functions(rows)]


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
    """One row per launch, oldest first."""

    def __init__(self, trace: Trace, objects: Objects, kernels: Kernels) -> None:
        self._trace, self._objects, self._kernels = trace, objects, kernels
        self.position = trace.select(trace.schema.doing("launch"))
        self.queue = trace.words(self.position, 0)
        self.kernel = trace.words(self.position, 1)
        self.status = trace.column("status", self.position)
        self.tid = trace.column("tid", self.position)
        self.done = trace.column("end", self.position) != 0
        self.kernel_row = objects.at(self.kernel, self.position)

    def __len__(self) -> int:
        return len(self.position)

    def geometry(self, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Global and local sizes; a 0 means the dimension was not given."""
        words = self._trace.record(int(self.position[row]))
        names = [("global_x", "global_y", "global_z"), ("local_x", "local_y", "local_z")]
        return tuple(words[n] for n in names[0]), tuple(words[n] for n in names[1])

    def sizes(self, rows: I64) -> list[U64]:
        """The same as six columns, global sizes first."""
        return [self._trace.words(self.position[rows], word) for word in range(2, 8)]

    def name(self, row: int) -> str:
        return self._kernels.name(int(self.kernel_row[row]))

    def info(self, row: int) -> KernelInfo | None:
        return self._kernels.info(int(self.kernel_row[row]))

    def at_position(self, position: int) -> int | None:
        """The row of the launch made at `position`."""
        row = int(np.searchsorted(self.position, position))
        return row if row < len(self.position) and int(self.position[row]) == position else None

    @cached_property
    def declared(self) -> Declared:
        return Declared(self._kernels)

    @cached_property
    def arguments(self) -> Arguments:
        owner, raw = self._trace.arguments(self.position)
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

    def _named_objects(self, raw: NDArray[np.void], index: NDArray[np.int32], value: U64, owner: I64) -> I64:
        """The live memory object that each value names, -1 for numbers."""
        rows = self.kernel_row[owner]
        cells = self.declared.cells(rows, index)
        memory = self.declared.at_cells("memory", cells) | ~self.declared.at_cells("known", cells)
        maybe = np.flatnonzero((raw["size"] == 8) & memory & (value != 0))
        found = np.full(len(raw), -1, np.int64)
        found[maybe] = self._objects.live_at(value[maybe], self.position[owner[maybe]])
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
        data = int(args.value[row]).to_bytes(8, "little")[:size]
        if size > 8:
            at = int(args.tail[row])
            data = tail[at : at + size] if at + size <= len(tail) else data
        declared = info.args.get(index) if info else None
        return {
            "index": index,
            "size": size,
            "bytes": data,
            "flags": int(args.flags[row]),
            "object": int(args.object[row]),
            "declared": declared,
        }


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
