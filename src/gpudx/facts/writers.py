"""What the work between two times was given to write: launches by their arguments, copies and fills by their ranges.

"Given" is meant widely: whatever may have been meant as an address of some memory counts as one. So what is left really was
given to nobody.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.facts.accesses import MAY, READ, WRITE
from gpudx.facts.launches import Launches
from gpudx.facts.objects import Objects
from gpudx.facts.ranges import WRITE as WRITES
from gpudx.facts.ranges import Ranges
from gpudx.trace import Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Span = tuple[int, int]  # first byte, and the one behind the last

KNOWN = ("launch", "copy", "fill")  # work that says what it was given
BLIND = ("launch_graph", "native_kernel", "migrate", "acquire", "hand_back")  # work that does not
NEAR = 64  # an address so far before memory may be meant for it: arrays that count from 1
LARGEST = np.uint64(np.iinfo(np.uint64).max)


@dataclass(frozen=True)
class Given:
    """One stretch that a launch was given: an argument that is a handle of an object, or a part of it."""

    position: int
    argument: int
    object: int  # as given
    span: Span  # in its root
    writes: bool


@dataclass(frozen=True)
class Work:
    """What may have run between two times."""

    launches: tuple[int, ...] = ()  # positions
    blind: tuple[int, ...] = ()  # positions of work that may have written what is not recorded
    spans: dict[int, list[Span]] = field(default_factory=dict)  # of objects that are roots: what was given for writing
    given: dict[int, list[Given]] = field(default_factory=dict)  # of roots: what launches were given, to read too
    addresses: tuple[tuple[int, int], ...] = ()  # stretches of addresses that copies and fills wrote
    words: U64 = field(
        default_factory=lambda: np.zeros(0, np.uint64)
    )  # sorted: what launches were given to write by address
    read_words: U64 = field(default_factory=lambda: np.zeros(0, np.uint64))  # and to read only


class Writers:
    """Answers for one process. Answers are kept: many changes are seen in one look."""

    def __init__(
        self, trace: Trace, objects: Objects, launches: Launches, ranges: Ranges, accesses: NDArray[np.void]
    ) -> None:
        self._trace, self._objects, self._launches, self._ranges = trace, objects, launches, ranges
        self._accesses = accesses
        self._known: dict[tuple[int, int, int], Work] = {}

    # ---- objects ----

    def root(self, row: int) -> tuple[int, int]:
        """The object whose memory this one is a part of, and where in it this one begins."""
        table, offset = self._objects.table, 0
        while (parent := int(table["parent"][row])) >= 0:
            offset += int(table["offset"][row])
            row = parent
        return row, offset

    def span(self, row: int, offset: int = 0, size: int = 0) -> tuple[int, Span]:
        """The root, and the bytes of it that `size` bytes of an object are; size 0: all of it. Images made from a buffer
        have no size of their own: they are all of it."""
        root, begin = self.root(row)
        size = size or int(self._objects.table["size"][row]) - offset
        if size <= 0:
            return root, (0, int(self._objects.table["size"][root]))
        return root, (begin + offset, begin + offset + size)

    # ---- work ----

    @cached_property
    def _work(self) -> tuple[I64, U64, U64]:
        """Positions of all that puts work into a queue, when the call was over, and the latest such time so far."""
        schema = self._trace.schema
        calls = [c for c in schema.calls if c.does in (*KNOWN, *BLIND)]
        calls += [c for c in schema.calls if c.does == "other" and c.word("queue") is not None]
        positions = self._trace.select(tuple(calls))
        ran = self._trace.column("status", positions) == 0
        ran &= (self._trace.column("flags", positions) & schema.flags.get("captured", 0)) == 0
        positions = positions[ran]
        end = self._trace.column("end", positions)
        end = np.where(end == 0, LARGEST, end)
        return positions, end, np.maximum.accumulate(end) if len(end) else end

    def between(self, since: int, position: int) -> Work:
        """The work of calls that ended after the ticks `since` and began before `position`."""
        positions, end, latest = self._work
        low = int(np.searchsorted(latest, np.uint64(since), side="right"))
        high = int(np.searchsorted(positions, position))
        key = (low, high, since)
        if key not in self._known:
            mine = positions[low:high][end[low:high] > np.uint64(since)]
            self._known = {key: self._gather(mine)}  # the next look asks for other work
        return self._known[key]

    def _gather(self, positions: I64) -> Work:
        info = [self._trace.info(int(p)) for p in positions]
        launches = [int(p) for p, i in zip(positions, info, strict=True) if i.does == "launch"]
        cut = self._trace.schema.flags.get("cut", 0)
        flags = self._trace.column("flags", positions)
        blind = [
            int(p)
            for p, i, f in zip(positions, info, flags, strict=True)
            if i.does not in KNOWN
            or (i.does == "launch" and f & cut)
            or (i.does != "launch" and not (i.reads or i.writes))
        ]
        spans, given = self._by_handle(positions)
        words, read_words = self._by_address(np.array(launches, np.int64))
        return Work(tuple(launches), tuple(blind), spans, given, self._copied(positions), words, read_words)

    def _by_handle(self, positions: I64) -> tuple[dict[int, list[Span]], dict[int, list[Given]]]:
        spans: dict[int, list[Span]] = defaultdict(list)
        given: dict[int, list[Given]] = defaultdict(list)
        if not len(positions):
            return spans, given
        table = self._accesses
        low, high = np.searchsorted(table["position"], [positions[0], positions[-1] + 1])
        rows = table[low:high]
        for row in rows[np.isin(rows["position"], positions)]:
            how = int(row["how"])
            root, span = self.span(int(row["object"]), int(row["offset"]), int(row["size"]))
            if how & WRITE:
                spans[root].append(span)
            if how & MAY and how & READ and row["argument"] >= 0:
                one = Given(int(row["position"]), int(row["argument"]), int(row["object"]), span, bool(how & WRITE))
                given[root].append(one)
        return spans, given

    def _copied(self, positions: I64) -> tuple[tuple[int, int], ...]:
        table = self._ranges.table
        if not len(positions) or not len(table):
            return ()
        low, high = np.searchsorted(table["position"], [positions[0], positions[-1] + 1])
        rows = table[low:high]
        rows = rows[(rows["how"] == WRITES) & np.isin(rows["position"], positions)]
        return tuple((int(r["address"]), int(r["address"]) + int(r["size"])) for r in rows)

    def _by_address(self, positions: I64) -> tuple[U64, U64]:
        """Every word that launches were given which may be an address, sorted: those to write with, and those of arguments
        that are declared for reading only."""
        rows = np.searchsorted(self._launches.position, positions)
        rows = rows[self._launches.by_address[rows]] if len(rows) else rows
        if not len(rows):
            return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        owner, raw = self._trace.arguments(self._launches.position[rows])
        declared = self._launches.declared
        index = raw["index"].astype(np.int64)
        reads = declared.get("read_only", self._launches.kernel_row[rows[owner]], index) & (raw["size"] == 8)
        value = np.ascontiguousarray(raw["value"])
        inner = [self._tail_words(int(p)) for p in self._launches.position[rows]]
        return np.unique(np.concatenate([value[~reads], *inner])), np.unique(value[reads])

    def _tail_words(self, position: int) -> U64:
        """Words of structures; members may lie at multiples of 4 in packed ones."""
        tail = self._trace.argument_tail(position)
        parts = [
            np.frombuffer(tail[at : at + (len(tail) - at) // 8 * 8], "<u8") for at in (0, 4) if len(tail) >= at + 8
        ]
        return np.concatenate([*parts, np.zeros(0, np.uint64)])

    # ---- the host ----

    @cached_property
    def _windows(self) -> dict[int, list[tuple[int, int]]]:
        """For each root, the maps of it: position, and the ticks when the program had given it back."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        closed = self._unmaps()
        maps = self._accesses[(self._accesses["how"] & MAY != 0) & (self._accesses["argument"] < 0)]
        for row in maps:
            position = int(row["position"])
            at = self._trace.record(position).get("result", 0)
            later = [ticks for where, ticks in closed.get(at, ()) if where > position]
            found[self.root(int(row["object"]))[0]].append((position, min(later, default=int(LARGEST))))
        return found

    def _unmaps(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for info in self._trace.schema.doing("unmap"):
            if info.word("mapped") is None:
                continue
            positions = self._trace.select(info)
            ends, at = self._trace.column("end", positions), self._trace.field(info, "mapped", positions)
            for position, end, where in zip(positions.tolist(), ends.tolist(), at.tolist(), strict=True):
                found[where].append((position, end or int(LARGEST)))
        return found

    def mapped(self, root: int, since: int, position: int) -> bool:
        """Did the program itself have a window into this memory?"""
        return any(begun < position and closed > since for begun, closed in self._windows.get(root, ()))

    @cached_property
    def unrecorded(self) -> tuple[str, ...]:
        """Functions that the program was handed and whose calls, which may start work, are not recorded."""
        found = set()
        for info in self._trace.calls_made:
            rules = backend_module(info.api, "rules") if "function_name" in info.arrays else None
            if rules is None:
                continue
            for position in self._trace.select(info):
                name = self._trace.array(int(position), "function_name").decode("utf-8", "replace")
                if self._trace.record(int(position)).get("result") and rules.starts_work(name):
                    found.add(name)
        return tuple(sorted(found))

    @cached_property
    def _mentions(self) -> U64:
        """Words of calls that do something else with memory: give it to other processes, describe it to the device."""
        calls = [c for c in self._trace.calls_made if c.does == "other" and c.api != "note"]
        words = [self._trace.field(c, name, self._trace.select(c)) for c in calls for name, _ in c.fields]
        return np.unique(np.concatenate([*words, np.zeros(0, np.uint64)]))

    def mentioned(self, first: int, end: int) -> bool:
        """Was an address in this stretch given to a call of another kind, at any time?"""
        return holds(self._mentions, first, end)


def holds(words: U64, first: int, end: int) -> bool:
    """Is one of the sorted words an address from `first` to before `end`?"""
    low = int(np.searchsorted(words, np.uint64(max(first, 0))))
    return low < len(words) and int(words[low]) < end
