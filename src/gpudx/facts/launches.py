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

    COLUMNS = (("size", np.int64, -1), ("memory", bool, False), ("read_only", bool, False), ("known", bool, False),
               ("pointer", bool, False))

    def __init__(self, kernels: Kernels, rows: I64) -> None:
        self.rows = np.unique(rows[rows >= 0])
        infos = [kernels.info(int(r)) for r in self.rows]
        self.width = max((max(i.args, default=-1) + 1 for i in infos if i), default=0) or 1
        self.num_args = np.array([i.num_args if i else -1 for i in infos], np.int64)
        self.tables = {n: np.full((len(infos), self.width), fill, kind) for n, kind, fill in self.COLUMNS}
        for at, info in enumerate(infos):
            for index, arg in (info.args if info else {}).items():
                self._put(at, index, arg)

    def _put(self, at: int, index: int, arg: ArgInfo) -> None:
        values = {"size": -1 if arg.size is None else arg.size, "memory": arg.is_memory, "read_only": arg.read_only,
                  "known": True, "pointer": "*" in arg.type}
        for name, value in values.items():
            self.tables[name][at, index] = value

    def get(self, name: str, rows: I64, indexes: I64) -> NDArray[Any]:
        """Column `name` for each (kernel row, argument index); the fill value where nothing is declared."""
        fill = next(f for n, _, f in self.COLUMNS if n == name)
        table = self.tables[name]
        if not len(self.rows):
            return np.full(len(rows), fill, table.dtype)
        at = np.searchsorted(self.rows, rows).clip(0, len(self.rows) - 1)
        good = (self.rows[at] == rows) & (indexes < self.width) & (indexes >= 0)
        out = np.full(len(rows), fill, table.dtype)
        out[good] = table[at[good], indexes[good]]
        return out

    def arguments(self, rows: I64) -> I64:
        """How many arguments each kernel row declares, -1 if unknown."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.int64)
        at = np.searchsorted(self.rows, rows).clip(0, len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.num_args[at], -1)


@dataclass(frozen=True)
class Arguments:
    """One row per argument of each launch. `launch` is the row in Launches; `object` the live object it names, or -1."""

    launch: I64
    index: I64
    size: I64
    value: U64
    flags: I64
    tail: I64
    setter: I64
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
        return Declared(self._kernels, self.kernel_row)

    @cached_property
    def arguments(self) -> Arguments:
        owner, raw = self._trace.arguments(self.position)
        given = (raw["flags"] & 1) != 0
        owner, raw = owner[given], raw[given]
        positions = self.position[owner]
        value = np.ascontiguousarray(raw["value"])
        return Arguments(
            launch=owner, index=raw["index"].astype(np.int64), size=raw["size"].astype(np.int64), value=value,
            flags=raw["flags"].astype(np.int64), tail=raw["tail"].astype(np.int64),
            setter=raw["setter"].astype(np.int64), object=self._named_objects(raw, value, positions, owner),
        )

    def _named_objects(self, raw: NDArray[np.void], value: U64, positions: I64, owner: I64) -> I64:
        """The live memory object that each value names, -1 for numbers."""
        index = raw["index"].astype(np.int64)
        rows = self.kernel_row[owner]
        known = self.declared.get("known", rows, index)
        memory = self.declared.get("memory", rows, index)
        maybe = (raw["size"] == 8) & (memory | ~known) & (value != 0)
        found = np.full(len(raw), -1, np.int64)
        found[maybe] = self._objects.live_at(value[maybe], positions[maybe])
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
        return {"index": index, "size": size, "bytes": data, "flags": int(args.flags[row]),
                "object": int(args.object[row]), "declared": declared}


class SetArgs:
    """One row per argument that was set, oldest first."""

    def __init__(self, trace: Trace, objects: Objects, kernels: Kernels) -> None:
        self.position = trace.select(trace.schema.doing("set_arg"))
        self.kernel = trace.words(self.position, 0)
        self.index = trace.words(self.position, 1).astype(np.int64)
        self.size = trace.words(self.position, 2).astype(np.int64)
        self.pointer = trace.words(self.position, 3)
        self.value = trace.words(self.position, 4)
        self.tid = trace.column("tid", self.position)
        self.status = trace.column("status", self.position)
        self.done = trace.column("end", self.position) != 0
        self.kernel_row = objects.at(self.kernel, self.position)
        svm = [c.number for c in trace.schema.doing("set_arg") if c.name.endswith("SVMPointer")]
        self.svm: Bool = np.isin(trace.call[self.position], svm)
        self._kernels = kernels

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def declared(self) -> Declared:
        return Declared(self._kernels, self.kernel_row)
