"""Which operation uses which bytes of which memory: copies, fills, maps, arguments of launches, and what graphs do.

Only memory that several lanes of operations use is looked at: the rest cannot be used without an order. Arrays and shared
virtual memory are left out, and so is memory of the host that kernels are given: programs use it to talk to a running kernel.
Ordinary host memory has no allocation here. Pointers inside structures are marked: a kernel need not use each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.accesses import MAY, READ, WRITE
from gpudx.facts.declared import Declared
from gpudx.facts.graphs import Graphs, Node, Version
from gpudx.facts.launches import Launches
from gpudx.facts.memory import Memory
from gpudx.facts.objects import FAMILIES, HOST_FAMILIES, KINDS, Objects
from gpudx.facts.operations import KINDS as OPERATIONS
from gpudx.facts.operations import field_of
from gpudx.facts.order.happens import Happens
from gpudx.facts.pointers import Pointers
from gpudx.facts.ranges import Ranges
from gpudx.facts.union import Union
from gpudx.trace import Trace
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
Table = NDArray[np.void]
# How much of its stretch a use touches: all of it; some of it; perhaps some, if the kernel does; or from its beginning on,
# nobody knows how far.
ALL, SOME, WITHIN, FROM = range(4)
MAKES = 8  # beside READ, WRITE and MAY: the memory is there from then on
LARGEST = 1 << 40  # bytes of one allocation
HOSTS = [FAMILIES.index(f) for f in HOST_FAMILIES]
MAP_WRITES, MAP_REPLACES = 2, 4  # bits of a map's flags: the host may write; it does not want what is there

DTYPE = np.dtype(
    [
        ("op", "<i4"),
        ("memory", "<i4"),
        ("first", "<i8"),
        ("end", "<i8"),
        ("how", "u1"),
        ("reach", "u1"),
        ("argument", "<i2"),
        ("at", "<i4"),
        ("node", "?"),
        ("inside", "?"),
    ]
)


@dataclass(frozen=True)
class Sources:
    """The facts that uses are made of."""

    trace: Trace
    objects: Objects
    memory: Memory
    launches: Launches
    graphs: Graphs
    ranges: Ranges
    accesses: Table
    happens: Happens


class Uses:
    """The table.

    op           row of Happens.ops
    memory       row of Objects: the whole allocation, never a part of one
    first, end   offsets of the stretch in it
    how, reach   READ, WRITE, MAY (as of accesses), MAKES; ALL, SOME, WITHIN, FROM
    argument     of a launch, -1 otherwise
    at           the position of the call; of a graph's node, the record that describes it
    node         it is a node of a graph
    inside       of a launch: the pointer is a member of a structure
    """

    def __init__(self, sources: Sources) -> None:
        self._s = sources

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def table(self) -> Table:
        if not self._s.happens.parallel:
            return np.zeros(0, DTYPE)
        parts, drawn = [self._objects(), self._unmaps(), self._copies(), self._made()], self._graphs()
        room = len(self._s.launches.pointers) + sum(map(len, parts))
        table = np.zeros(room + sum(len(ops) * len(template) for ops, template in drawn), DTYPE)
        size = self._pointers(table)  # what is not written to takes no memory
        shared = self._shared([table[:size], *parts], drawn)
        size = _keep(table[:size], shared)
        for part in (*parts, *(_tiled(ops, template) for ops, template in drawn)):
            part = part[shared[part["memory"]]]
            table[size : size + len(part)] = part
            size += len(part)
        return _by_operation(table[:size] if size > room // 2 else table[:size].copy())

    def _shared(self, parts: list[Table], drawn: list[tuple[I64, Table]]) -> Bool:
        """By object: memory that several lanes use."""
        lanes, codes = self._s.happens.lane, Union()
        for part in parts:
            for rows in slices(len(part)):
                codes.add(_paired(part["memory"][rows], lanes[part["op"][rows]]))
        for launches, template in drawn:
            used, lane = np.unique(template["memory"]), np.unique(lanes[launches])
            codes.add(_paired(np.repeat(used, len(lane)), np.tile(lane, len(used))))
        return np.bincount(codes.all() >> 32, minlength=len(self._s.objects)) > 1

    def _rows(self, positions: I64, objects: I64) -> tuple[Table, I64]:
        """Empty rows for calls that are operations on objects, and which of the calls they are of."""
        op = self._s.happens.op_at(positions)
        keep = np.flatnonzero((op >= 0) & (objects >= 0))
        table = np.zeros(len(keep), DTYPE)
        table["op"], table["at"], table["argument"] = op[keep], positions[keep], -1
        return table, keep

    # ---- memory objects ----

    def _place(self, table: Table, objects: I64, offset: U64, size: U64) -> None:
        """Parts of memory objects as stretches of the whole ones; a size of 0 is all of the object."""
        known = self._s.objects.table
        parent = known["parent"][objects]
        size = np.where(size > 0, size, np.maximum(known["size"][objects], np.uint64(1)))
        base = np.where(parent >= 0, known["offset"][objects], 0).astype(np.int64)
        table["memory"] = np.where(parent >= 0, parent, objects)
        table["first"] = base + np.minimum(offset, LARGEST).astype(np.int64)
        table["end"] = table["first"] + np.minimum(size, LARGEST).astype(np.int64)

    def _objects(self) -> Table:
        """Copies and fills of memory objects, maps, and launches that were given some."""
        given = self._s.accesses
        table, keep = self._rows(given["position"], given["object"])
        given = given[keep]
        self._place(table, given["object"], given["offset"], given["size"])
        launched = given["argument"] >= 0
        image = self._s.objects.table["kind"][given["object"]] == KINDS.index("image")
        table["reach"] = np.where(launched, WITHIN, np.where((given["size"] == 0) | image, SOME, ALL))
        table["how"], table["argument"] = given["how"], given["argument"]
        self._maps(table)
        return table

    def _maps(self, table: Table) -> None:
        """A map reads what is there, unless the host said that it will replace all of it (OpenCL 3.0 API specification,
        "Mapping Memory Objects")."""
        calls = [c.number for c in self._s.trace.schema.doing("map")]
        mine = np.flatnonzero(np.isin(self._s.trace.call[table["at"]], calls))
        flags = field_of(self._s.trace, "flags", table["at"][mine])
        table["how"][mine] = np.where(flags & np.uint64(MAP_REPLACES), WRITE, READ)

    def _unmaps(self) -> Table:
        """The end of a map writes what the host may have written: the same stretch as the map gave it."""
        trace = self._s.trace
        maps, unmaps = (trace.select(trace.schema.doing(verb)) for verb in ("map", "unmap"))
        latest = _latest(field_of(trace, "result", maps), maps, field_of(trace, "mapped", unmaps), unmaps)
        unmaps, maps = unmaps[latest >= 0], maps[latest[latest >= 0]]
        writes = (field_of(trace, "flags", maps) & np.uint64(MAP_WRITES | MAP_REPLACES)) != 0
        unmaps, maps = unmaps[writes], maps[writes]
        handles = field_of(trace, "mem", unmaps)
        table, keep = self._rows(unmaps, self._s.objects.live_at(handles, unmaps))
        objects = self._s.objects.live_at(handles, unmaps)[keep]
        self._place(table, objects, field_of(trace, "offset", maps)[keep], field_of(trace, "size", maps)[keep])
        table["how"] = WRITE
        return table

    # ---- memory by address ----

    def _device(self, objects: I64) -> Bool:
        known = self._s.objects.table
        found = np.append(~np.isin(known["family"], HOSTS), False)
        return found[objects] & (objects >= 0)

    def _copies(self) -> Table:
        ranges = self._s.ranges
        table, keep = self._rows(ranges.table["position"], np.where(ranges.live, ranges.object, -1))
        rows = ranges.table[keep]
        self._address(table, ranges.object[keep], rows["address"], rows["size"])
        table["how"] = rows["how"]
        table["reach"] = np.where((rows["height"] > 1) | (rows["layers"] > 1), SOME, ALL)
        gapless = (rows["layers"] == 1) & (rows["pitch"] == rows["width"])
        table["reach"][gapless] = ALL
        return table

    def _made(self) -> Table:
        """Memory that comes in the order of a queue: it is there for others only when the queue has come so far."""
        known, ops = self._s.objects.table, self._s.happens.ops
        rows = np.flatnonzero(known["born"] >= 0)
        made = ops["position"][ops["kind"] == OPERATIONS.index("create")]
        rows = rows[np.isin(known["born"][rows], made)]
        table, keep = self._rows(known["born"][rows].astype(np.int64), rows)
        self._address(table, rows[keep], known["handle"][rows[keep]], known["size"][rows[keep]])
        table["how"] = WRITE | MAKES
        return table

    def _address(self, table: Table, objects: I64, address: U64, size: U64) -> None:
        known = self._s.objects.table
        offset = np.minimum(address - known["handle"][objects], np.uint64(LARGEST))
        table["memory"], table["first"] = objects, offset.astype(np.int64)
        table["end"] = table["first"] + np.minimum(size, np.uint64(LARGEST)).astype(np.int64)

    def _pointers(self, table: Table) -> int:
        """Fills in the arguments of launches; gives their number."""
        launches, size = self._s.launches, 0
        found = launches.pointers
        for some in slices(len(found)):
            objects = self._useful(found, some)
            part, keep = self._rows(launches.position[found.launch[some]], objects)
            rows = some.start + keep
            self._argument(part, found, rows, launches.kernel_row[found.launch[rows]], launches.declared)
            table[size : size + len(part)] = part
            size += len(part)
        return size

    def _useful(self, found: Pointers, some: slice) -> I64:
        """Objects that pointers were meant for."""
        objects = found.object[some].astype(np.int64)
        return np.where(found.live[some] & self._device(objects), objects, -1)

    def _argument(self, table: Table, found: Pointers, keep: I64, rows: I64, declared: Declared) -> None:
        objects = found.object[keep].astype(np.int64)
        self._address(table, objects, found.value[keep], np.ones(len(keep), np.uint64))
        read_only = declared.get("read_only", rows, found.index[keep])
        table["how"] = np.where(read_only, READ | MAY, READ | WRITE | MAY)
        table["how"][found.inside[keep]] = READ | WRITE | MAY  # whatever is declared of the structure
        table["reach"], table["argument"], table["inside"] = FROM, found.index[keep], found.inside[keep]

    # ---- graphs ----

    def _graphs(self) -> list[tuple[I64, Table]]:
        """(operations, what each of them uses) for each version of each graph."""
        graphs, found = self._s.graphs, []
        for version, launches in graphs.by_version():
            op = self._s.happens.op_at(graphs.position[launches])
            if len(op := op[op >= 0]):
                parts = [self._kernels(version), *(self._node(n) for n in version.nodes if n.kind != "kernel")]
                found.append((op, np.unique(np.concatenate(parts))))
        return found

    def _kernels(self, version: Version) -> Table:
        found = self._s.graphs.pointers(version)
        keep = np.flatnonzero(self._useful(found, slice(None)) >= 0)
        table = np.zeros(len(keep), DTYPE)
        nodes = [version.nodes[int(n)] for n in found.launch[keep]]
        rows = np.array([n.kernel_row for n in nodes], np.int64)
        self._argument(table, found, keep, rows, self._s.launches.declared)
        table["at"], table["node"] = [n.position for n in nodes], True
        return table

    def _node(self, node: Node) -> Table:
        """A copy or a fill. One of several rows is told by its first and last byte."""
        words = self._s.trace.record(node.position)
        rows = max(words["height"], 1) * max(words.get("depth", 1), 1)
        width = words["width"] * max(words.get("element", 1), 1)
        found = []
        for side, pitch, how in (("src", "src_pitch", READ), ("dst", "dst_pitch", WRITE), ("dst", "pitch", WRITE)):
            if words.get(side) and pitch in words:
                obj = self._s.memory.one(words[side], node.position)
                if obj >= 0:
                    found.append(
                        self._stretch(node, obj, words[side], (rows - 1) * words[pitch] + width, how, rows > 1)
                    )
        return np.concatenate(found) if found else np.zeros(0, DTYPE)

    def _stretch(self, node: Node, obj: int, address: int, size: int, how: int, rows: bool) -> Table:
        table = np.zeros(1, DTYPE)
        self._address(table, np.array([obj]), np.array([address], np.uint64), np.array([size], np.uint64))
        table["how"], table["reach"], table["argument"] = how, SOME if rows else ALL, -1
        table["at"], table["node"] = node.position, True
        return table


def _keep(table: Table, shared: Bool) -> int:
    """Moves the rows of shared memory to the front; gives their number."""
    size = 0
    for some in slices(len(table)):
        kept = table[some][shared[table["memory"][some]]]
        table[size : size + len(kept)] = kept
        size += len(kept)
    return size


def _tiled(launches: I64, template: Table) -> Table:
    """What a graph uses, once for each of its launches."""
    whole = np.tile(template, len(launches))
    whole["op"] = np.repeat(launches, len(template))
    return whole


def _by_operation(table: Table) -> Table:
    if (table["op"][1:] < table["op"][:-1]).any():
        order = np.argsort(table["op"], kind="stable")
        for name in DTYPE.names or ():  # column by column: no second table
            table[name] = table[name][order]
    return table


def _paired(memory: NDArray[np.int32], lane: NDArray[np.int32]) -> I64:
    return (memory.astype(np.int64) << 32) | (lane.astype(np.int64) & 0xFFFFFFFF)


def _latest(keys: U64, positions: I64, wanted: U64, before: I64) -> I64:
    """For each wanted key, which of `keys` had it last before a position, -1 if none."""
    order = np.lexsort((positions, keys))
    values, numbers = np.unique(keys[order], return_inverse=True)
    if not len(values):
        return np.full(len(wanted), -1, np.int64)
    known = np.searchsorted(values, wanted).clip(0, len(values) - 1)
    at = np.searchsorted((numbers.reshape(-1) << 40) | positions[order], (known << 40) | before) - 1
    hit = (values[known] == wanted) & (at >= 0) & (numbers.reshape(-1)[at.clip(0)] == known)
    return np.where(hit, order[at.clip(0)], -1)
