"""Every object the program made: its handle, its life from first to last call, and what is known about it.

Handles are addresses that drivers reuse, so an object is a *life* of a handle: from the call that made it to the call
that dropped the program's last reference. Objects made from it keep it valid for longer: a kernel its program, a
sub-buffer its buffer, everything its context.

Threads overlap. A handle is in the program's hands when the call that made it has *returned*, and the driver may give
it away again as soon as the last release has *begun*; ordering both by their beginnings would let a buffer made in one
thread die by the release of its predecessor in another.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.backends import named
from gpudx.facts._backend import backend_module
from gpudx.trace import CallInfo, Trace

NEVER = np.int64(1) << np.int64(62)  # died: not while we watched
KINDS = (
    "context",
    "queue",
    "buffer",
    "subbuffer",
    "image",
    "pipe",
    "sampler",
    "program",
    "kernel",
    "svm",
    "device",
    "memory",
    "global",
    "event",
    "graph",
    "graph_exec",
    "node",
    "array",
    "mipmap",
    "texture",
    "surface",
    "pool",
    "physical",
    "reservation",
    "green_context",
)
MEMORY = ("buffer", "subbuffer", "image", "pipe")
POINTED = ("memory", "svm", "global")  # memory that programs name by addresses, which may point into its middle
FAMILIES = ("", "device", "pitched", "managed", "host", "registered", "async", "mapped", "ipc", "imported", "graphics")
HOST_FAMILIES = ("host", "registered")  # memory of the host that devices can reach too
USE_HOST_PTR = 1 << 3  # CL_MEM_USE_HOST_PTR (cl.h)
LOWEST_HANDLE = 4096  # smaller numbers are ordinals and special values, not addresses of objects
UNCOUNTED = ("memory", "svm", "device")  # freed at once, whoever uses them
OWNERS = ("handle:context", "handle:program", "handle:mem", "handle:kernel")
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

DTYPE = np.dtype(
    [
        ("handle", "<u8"),
        ("kind", "u1"),
        ("born", "<i8"),
        ("since", "<i8"),
        ("died", "<i8"),
        ("gone", "<i8"),
        ("size", "<u8"),
        ("owner", "<i8"),
        ("parent", "<i8"),
        ("offset", "<u8"),
        ("flags", "<u8"),
        ("host_ptr", "<u8"),
        ("number", "<i4"),
        ("family", "u1"),
        ("context", "<u4"),
        ("later", "?"),
    ]
)


@dataclass(frozen=True)
class Objects:
    """The table, in order of birth.

    born    the call that made it, -1 for handles that were only ever seen being retained or released
    since   the first position at which the program can have had the handle
    died    the call that dropped the program's last reference
    gone    the call after which nothing that was recorded keeps it valid; never before `died`
    owner   the object that this one was made from, -1 if none. Where the API counts references it is kept valid by this
            one; elsewhere its end is the end of this one too
    family  where memory comes from, a place in FAMILIES
    context the number of the context it was made in, 0 if not known
    later   it was freed in the order of a queue, not at once
    """

    table: NDArray[np.void]

    def __len__(self) -> int:
        return len(self.table)

    def column(self, name: str) -> NDArray[Any]:
        return self.table[name]  # type: ignore[no-any-return]

    def kind(self, row: int) -> str:
        return KINDS[int(self.table["kind"][row])]

    def label(self, row: int) -> str:
        """ "buffer #3": the third buffer the process made. The name used in every sentence."""
        return f"{self.kind(row)} #{int(self.table['number'][row])}"

    def family(self, row: int) -> str:
        """Where memory comes from, "" if nothing was said."""
        return FAMILIES[int(self.table["family"][row])]

    def state(self, row: int, position: int) -> str:
        """ "live" or "freed" at a position."""
        return "live" if int(self.table["gone"][row]) >= position else "freed"

    def rows_of(self, *kinds: str) -> I64:
        wanted = [KINDS.index(k) for k in kinds]
        return np.flatnonzero(np.isin(self.table["kind"], wanted))

    @cached_property
    def on_host(self) -> NDArray[np.bool_]:
        """By row: memory that is the program's own, for as long as the object lives."""
        return ((self.table["flags"] & np.uint64(USE_HOST_PTR)) != 0) & (self.table["host_ptr"] > 0)

    @cached_property
    def _handles(self) -> U64:
        return np.unique(self.table["handle"])

    @cached_property
    def _order(self) -> tuple[I64, U64]:
        """Rows sorted by (handle, since), and their combined keys: one search finds the life of a handle at a time."""
        ids = np.searchsorted(self._handles, self.table["handle"]).astype(np.uint64)
        keys = (ids << np.uint64(36)) | (self.table["since"] + 1).astype(np.uint64)
        rows = np.argsort(keys, kind="stable")
        return rows, keys[rows]

    @cached_property
    def _lives(self) -> tuple[I64, I64, I64]:
        """Per distinct handle: how many lives it had, the row of its first, and when that began."""
        rows, keys = self._order
        ids = (keys >> np.uint64(36)).astype(np.int64)
        first = np.searchsorted(ids, np.arange(len(self._handles)))
        return np.bincount(ids, minlength=len(self._handles)), rows[first], self.table["since"][rows[first]]

    def at(self, handles: U64, positions: I64) -> I64:
        """Row of the latest life of each handle that began at or before its position, else -1. It may be dead.

        Most values are no handles, and most handles have one life: both are settled without searching by time.
        """
        found = np.full(len(handles), -1, np.int64)
        if not len(self.table):
            return found
        maybe = np.flatnonzero((handles >= self._handles[0]) & (handles <= self._handles[-1]))
        ids = np.searchsorted(self._handles, handles[maybe])
        known = self._handles[ids] == handles[maybe]
        if not known.all():
            maybe, ids = maybe[known], ids[known]
        lives, row, since = self._lives
        found[maybe] = np.where(since[ids] <= positions[maybe], row[ids], -1)
        several = lives[ids] > 1
        if several.any():
            found[maybe[several]] = self._by_time(ids[several], positions[maybe[several]])
        return found

    def _by_time(self, ids: I64, positions: I64) -> I64:
        rows, keys = self._order
        wanted = (ids.astype(np.uint64) << np.uint64(36)) | (positions + 1).astype(np.uint64)
        found = np.searchsorted(keys, wanted, side="right") - 1
        same = (found >= 0) & ((keys[np.maximum(found, 0)] >> np.uint64(36)) == ids.astype(np.uint64))
        return np.where(same, rows[np.maximum(found, 0)], -1)

    @cached_property
    def _births(self) -> dict[int, list[tuple[int, int]]]:
        """For each handle, where its objects were made, and their rows."""
        births = defaultdict(list)
        for row in np.flatnonzero(self.table["born"] >= 0).tolist():
            births[int(self.table["handle"][row])].append((int(self.table["born"][row]), row))
        return births

    def being_made(self, handle: int, position: int) -> int:
        """Row of the latest object with this handle whose making had begun, and need not be over; -1: none.

        Notes about a fresh object are written before the call that makes it is over.
        """
        found = [birth for birth in self._births.get(handle, ()) if birth[0] < position]
        return max(found)[1] if found else -1

    def live_at(self, handles: U64, positions: I64) -> I64:
        """Row of the object that each handle names at its position, -1 if none is alive then."""
        rows = self.at(handles, positions)
        if not len(self.table):
            return rows
        alive = (rows >= 0) & (self.table["gone"][np.maximum(rows, 0)] >= positions)
        return np.where(alive, rows, -1)


@dataclass
class _Rows:
    """Births, references and deaths while they are being collected."""

    handle: list[U64]
    position: list[I64]
    time: list[U64]  # when a birth was over, when anything else began
    change: list[I64]
    kind: list[I64]
    birth: list[NDArray[np.bool_]]

    def add(self, trace: Trace, handles: U64, positions: I64, change: int, kind: int, birth: bool = False) -> None:
        n = len(handles)
        self.handle.append(handles)
        self.position.append(positions)
        self.time.append(trace.column("end" if birth else "begin", positions))
        self.change.append(np.full(n, change, np.int64))
        self.kind.append(np.full(n, kind, np.int64))
        self.birth.append(np.full(n, birth))

    def sorted(self) -> tuple[U64, I64, U64, I64, I64, NDArray[np.bool_]]:
        """All columns, by handle and time."""
        handle, time = np.concatenate(self.handle), np.concatenate(self.time)
        order = np.lexsort((time, handle))
        position, change, kind = (np.concatenate(c)[order] for c in (self.position, self.change, self.kind))
        return handle[order], position, time[order], change, kind, np.concatenate(self.birth)[order]


def _good(trace: Trace, positions: I64) -> I64:
    """Those of the calls that returned success."""
    done = trace.column("end", positions) != 0
    return positions[done & (trace.column("status", positions) == 0)]


def _made(trace: Trace, info: CallInfo) -> I64:
    """The calls that gave the program an object. A driver may return one beside an error (PoCL 3.1 does, for a context without
    devices), and the program may release it, so OpenCL's result counts, not its status."""
    if not counts_references(info):
        return _good(trace, trace.select(info))
    positions = trace.select(info)
    return positions[trace.column("end", positions) != 0]


def counts_references(info: CallInfo) -> bool:
    """Does an object of this call's API keep what it was made from? Elsewhere the end of a program ends its kernels. Where it
    does, an event is one command's end, made anew by each, rather than an object that marks are put on."""
    return bool(getattr(named(info.api), "COUNTS_REFERENCES", False))


def _kind_number(info: CallInfo) -> int:
    kind = "buffer" if info.object == "mem" else info.object
    if kind == "event" and counts_references(info):
        return -1  # each command makes one: too many to follow
    return KINDS.index(kind) if kind in KINDS else -1


def _captured(trace: Trace, positions: I64) -> NDArray[np.bool_]:
    """Which calls went into a graph instead of being done."""
    return (trace.column("flags", positions) & trace.schema.flags.get("captured", 0)) != 0


def _of_graphs(trace: Trace) -> U64:
    """Addresses that graphs allocate: by a captured allocation, or by a node that was added. Each launch of the graph allocates
    there again, whoever freed it in between (CUDA programming guide, "Graph Memory Nodes")."""
    found = [np.zeros(0, np.uint64)]
    for info in trace.schema.doing("create", "memory"):
        if info.word("result") is not None:
            positions = trace.select(info)
            found.append(trace.field(info, "result", positions[_captured(trace, positions)]))
    note = trace.schema.by_name("note_graph_memory")
    if note is not None:
        found.append(trace.field(note, "address", trace.select(note)))
    return np.unique(np.concatenate(found))


def _subject(info: CallInfo) -> str | None:
    """The field that names the object of a retain or release, None where a list of objects does."""
    if info.object == "svm":
        return "svm" if info.word("svm") is not None else None
    return info.fields[0][0]


def _collect(trace: Trace) -> _Rows:
    rows, of_graphs = _Rows([], [], [], [], [], []), _of_graphs(trace)
    for info in trace.calls_made:
        kind = _kind_number(info)
        if kind < 0 or info.does not in ("create", "retain", "release", "free_later"):
            continue
        if info.does == "create" and info.word("result") is not None:
            positions = _made(trace, info)
            handles = trace.field(info, "result", positions)
            rows.add(trace, handles[handles != 0], positions[handles != 0], 1, kind, birth=True)
        elif info.does != "create" and (subject := _subject(info)):
            change = 1 if info.does == "retain" else -1
            positions = _good(trace, trace.select(info))
            positions = positions[~_captured(trace, positions)]
            handles = trace.field(info, subject, positions)
            known = (handles != 0) & ~np.isin(handles, of_graphs)  # when those live is not followed: they are not judged
            rows.add(trace, handles[known], positions[known], change, kind)
    _collect_devices(trace, rows)
    _collect_unmapped(trace, rows)
    _collect_noted_kernels(trace, rows)
    return rows


def _collect_unmapped(trace: Trace, rows: _Rows) -> None:
    """One call may take away several mappings that lie side by side: the first is its handle, the others follow."""
    calls = [c for c in trace.schema.doing("create", "memory") if c.family == "mapped"]
    made = [trace.field(c, "result", _good(trace, trace.select(c))) for c in calls]
    mapped = np.unique(np.concatenate(made)) if made else np.zeros(0, np.uint64)
    for info in trace.schema.doing("release", "memory") if len(mapped) else ():
        if info.word("size") is None:
            continue
        positions = _good(trace, trace.select(info))
        first = trace.field(info, info.fields[0][0], positions)
        low = np.searchsorted(mapped, first, side="right")
        high = np.searchsorted(mapped, first + trace.field(info, "size", positions))
        for position, begin, end in zip(positions, low, high, strict=True):
            rows.add(trace, mapped[begin:end], np.full(end - begin, position), -1, KINDS.index("memory"))


def _collect_noted_kernels(trace: Trace, rows: _Rows) -> None:
    """Kernels whose making was not seen, but which the recorder met in a launch and described."""
    note = trace.schema.by_name("note_kernel")
    positions = trace.select(note) if note is not None else np.zeros(0, np.int64)
    if note is None or not len(positions):
        return
    kernel = KINDS.index("kernel")
    wanted = [c for c in trace.schema.doing("launch") if not counts_references(c)]
    wanted += [c for c in trace.schema.calls if c.name == "note_graph_kernel"]
    used = [np.unique(trace.field(c, "kernel", trace.select(c))) for c in wanted]
    born = [h[b & (k == kernel)] for h, b, k in zip(rows.handle, rows.birth, rows.kind, strict=True)]
    handles = trace.field(note, "kernel", positions)
    unseen = np.isin(handles, np.concatenate([*used, handles[:0]]))
    unseen &= ~np.isin(handles, np.concatenate([*born, handles[:0]]))
    rows.add(trace, handles[unseen], positions[unseen], 1, kernel, birth=True)


def _collect_devices(trace: Trace, rows: _Rows) -> None:
    note = trace.schema.by_name("note_device")
    if note is None:
        return
    positions = trace.select(note)
    handles, first = np.unique(trace.field(note, "device", positions), return_index=True)
    handles, first = handles[handles >= LOWEST_HANDLE], first[handles >= LOWEST_HANDLE]
    rows.add(trace, handles, positions[first], 1, KINDS.index("device"), birth=True)


def _lives(trace: Trace, rows: _Rows) -> NDArray[np.void]:
    """One row per life: references are summed from each birth on, all handles at once."""
    handle, position, time, change, kind, birth = rows.sorted()
    starts = birth.copy()
    starts[0] = True
    starts[1:] |= handle[1:] != handle[:-1]
    first = np.flatnonzero(starts)
    table = np.zeros(len(first), DTYPE)
    table["handle"], table["kind"], table["owner"], table["parent"] = handle[first], kind[first], -1, -1
    table["born"] = np.where(birth[first], position[first], -1)
    begun = np.searchsorted(trace.column("begin"), time[first], side="left")
    table["since"] = np.where(birth[first], np.maximum(begun, position[first] + 1), -1)
    table["since"][_first_noted(trace, table)] = -1
    table["died"] = _deaths(first, position, change, _inherited(first, table, change))
    return table


def _first_noted(trace: Trace, table: NDArray[np.void]) -> NDArray[np.bool_]:
    """First lives that a note is the only sign of: the kernel was there before it was described."""
    notes = [c.number for c in trace.schema.calls if c.name == "note_kernel"]
    noted = (table["born"] >= 0) & np.isin(trace.call[table["born"]], notes)
    return noted & np.append(True, table["handle"][1:] != table["handle"][:-1])


def _inherited(first: I64, table: NDArray[np.void], change: I64) -> I64:
    """References that a life begins with besides those of its own calls.

    One whose birth we did not see (made before recording, or by another way in) is taken to hold one. One that began
    while its predecessor held some is no new object: the driver gave the same one out again, or a release was lost.
    """
    held = np.where(table["born"] < 0, 1, 0)
    sums = np.add.reduceat(change, first)
    counted = ~np.isin(table["kind"], [KINDS.index(k) for k in UNCOUNTED])
    again = (table["handle"][1:] == table["handle"][:-1]) & counted[1:] & (sums[:-1] + held[:-1] > 0)
    for life in map(int, np.flatnonzero(again)):
        held[life + 1] += max(int(held[life]) + int(sums[life]), 0)
    return held


def _deaths(first: I64, position: I64, change: I64, inherited: I64) -> I64:
    """The call after which a life's references never rise above zero again, NEVER if they stay above it."""
    starts = np.zeros(len(position), np.int64)
    starts[first] = 1
    segment = np.cumsum(starts) - 1
    total = np.cumsum(change)
    references = total - (total[first] - change[first])[segment] + inherited[segment]
    # A reference taken after the count fell to zero was lent by an object that still held this one: it lived on.
    last = np.maximum.reduceat(np.where(references > 0, np.arange(len(position)), first[segment] - 1), first)
    end = np.append(first[1:], len(position))
    return np.where(last + 1 < end, position[np.minimum(last + 1, len(position) - 1)], NEVER)


def _fill(trace: Trace, table: NDArray[np.void]) -> None:
    """Sizes, flags and parents, from the calls that made the objects."""
    births = table["born"]
    order = np.argsort(births, kind="stable")
    for info in trace.schema.doing("create"):
        positions = _good(trace, trace.select(info))
        if not len(positions) or _kind_number(info) < 0:
            continue
        at = order[np.searchsorted(births[order], positions).clip(0, len(order) - 1)]
        keep = births[at] == positions
        for name in ("size", "flags", "host_ptr"):
            if info.word(name) is not None:
                table[name][at[keep]] = trace.field(info, name, positions[keep])
        if info.size:
            table["size"][at[keep]] = trace.product(info, info.size, positions[keep])
        table["family"][at[keep]] = FAMILIES.index(info.family) if info.family in FAMILIES else 0
        table["context"][at[keep]] = trace.context[positions[keep]]
        _fill_owners(trace, info, table, at[keep], positions[keep])
        if info.object == "subbuffer":
            _fill_regions(trace, table, at[keep], positions[keep])
        if "desc" in info.arrays:
            _fill_image_parents(trace, table, at[keep], positions[keep])


def _fill_owners(trace: Trace, info: CallInfo, table: NDArray[np.void], at: I64, positions: I64) -> None:
    """What the driver keeps for as long as the new object lives: the handle that the creating call was given."""
    source = next((n for n, kind in info.fields if kind in OWNERS and n != "result"), None)
    if source is None:
        return
    owner = Objects(table).at(trace.field(info, source, positions), positions)
    table["owner"][at] = owner
    if info.object == "subbuffer":
        table["parent"][at] = owner


def _own_noted_kernels(trace: Trace, table: NDArray[np.void]) -> None:
    """The program of kernels that only a note tells of."""
    note = trace.schema.by_name("note_kernel")
    if note is None:
        return
    rows = np.flatnonzero(table["born"] >= 0)
    rows = rows[trace.call[table["born"][rows]] == note.number]
    born = table["born"][rows]
    table["owner"][rows] = Objects(table).at(trace.field(note, "program", born), born)


def _skip_copies(table: NDArray[np.void]) -> None:
    """A copied kernel belongs to the program, not to the kernel it was copied from."""
    owner, kernel = table["owner"], KINDS.index("kernel")
    is_kernel = table["kind"] == kernel
    while len(copies := np.flatnonzero((owner >= 0) & is_kernel & is_kernel[owner])):
        owner[copies] = owner[owner[copies]]


def _fill_regions(trace: Trace, table: NDArray[np.void], at: I64, positions: I64) -> None:
    for row, position in zip(at, positions, strict=True):
        region = np.frombuffer(trace.array(int(position), "create_info")[:16], "<u8")
        if len(region) == 2:
            table["offset"][row], table["size"][row] = region


def _fill_image_parents(trace: Trace, table: NDArray[np.void], at: I64, positions: I64) -> None:
    """Images may be made from a buffer or another image, whose memory they share."""
    rules = backend_module(trace.info(int(positions[0])).api, "rules") if len(positions) else None
    if rules is None or not hasattr(rules, "memory_of_image"):
        return
    handles = [rules.memory_of_image(trace.array(int(position), "desc")) for position in positions]
    table["parent"][at] = Objects(table).at(np.array(handles, np.uint64), positions)


def _fill_later(trace: Trace, table: NDArray[np.void]) -> None:
    calls = [c.number for c in trace.schema.doing("free_later")]
    died = np.flatnonzero(table["died"] < NEVER)
    table["later"][died] = np.isin(trace.call[table["died"][died]], calls)


def _end_with_owners(trace: Trace, table: NDArray[np.void]) -> None:
    """Where nothing is counted, kernels and variables end with their program."""
    counting = trace.schema.where(counts_references)
    ends = np.isin(table["kind"], [KINDS.index(k) for k in ("kernel", "global")]) & (table["owner"] >= 0)
    rows = np.flatnonzero(ends & (table["born"] >= 0))
    born = table["born"][rows]
    rows = rows[~counting[trace.call[born]]]
    died, owner = table["died"], table["owner"][rows]
    died[rows] = np.minimum(died[rows], died[owner])
    table["owner"][rows] = np.where(table["kind"][rows] == KINDS.index("kernel"), owner, -1)


def _fill_gone(trace: Trace, table: NDArray[np.void]) -> None:
    """Children before owners: a kernel may hold the program that holds the context."""
    counting = trace.schema.where(counts_references)
    counted = (table["born"] >= 0) & counting[trace.call[np.maximum(table["born"], 0)]]
    owner = table["owner"]
    table["gone"] = table["died"]
    parts = np.flatnonzero(table["parent"] >= 0)
    np.maximum.at(table["gone"], table["parent"][parts], table["gone"][parts])
    for kinds in (("kernel", "subbuffer"), ("program", "queue", "buffer", "image", "pipe", "sampler", "svm")):
        held = np.flatnonzero(np.isin(table["kind"], [KINDS.index(k) for k in kinds]) & (owner >= 0) & counted)
        np.maximum.at(table["gone"], owner[held], table["gone"][held])


def _number(table: NDArray[np.void]) -> None:
    """Counts objects of each kind from 1, in order of birth."""
    for kind in np.unique(table["kind"]):
        rows = np.flatnonzero(table["kind"] == kind)
        table["number"][rows] = np.arange(1, len(rows) + 1)


def derive_objects(trace: Trace) -> Objects:
    """All lives of all handles, oldest first."""
    rows = _collect(trace)
    if not rows.handle or not sum(map(len, rows.handle)):
        return Objects(np.zeros(0, DTYPE))
    table = _lives(trace, rows)
    table = table[np.argsort(table["born"], kind="stable")]
    _fill(trace, table)
    _own_noted_kernels(trace, table)
    _fill_later(trace, table)
    _skip_copies(table)
    _end_with_owners(trace, table)
    _fill_gone(trace, table)
    _number(table)
    return Objects(table)
