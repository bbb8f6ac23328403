"""Changes of watched memory that no work of their time was given, and the launches that may have made them.

What cannot be told is counted, not guessed: work whose memory is not recorded (graphs, functions of the host), memory whose
address stands in other memory or was given to calls by which others can reach it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gpudx.facts.launches import Launches
from gpudx.facts.objects import KINDS, Objects
from gpudx.facts.watch import Change, Watch
from gpudx.facts.writers import NEAR, Span, Work, Writers, holds
from gpudx.trace import Trace

FAR = 1 << 16  # memory that is farther away says nothing
BESIDE = 4096  # memory of a launch that ends so near before what changed is what it ran out of
MOST = 1000  # that are told
MOST_ASKED = 2000  # launches whose memory is looked at one by one, the newest
WATCHED = [KINDS.index(kind) for kind in ("buffer", "memory")]


@dataclass(frozen=True)
class Neighbour:
    """Memory that a launch was given to write, and how far it is from what changed."""

    argument: int
    object: int
    distance: int
    behind: bool  # it begins after what changed


@dataclass(frozen=True)
class Bystander:
    """Bytes of `root` (a row of Objects), from `first` to `last`, that nobody was given to write.

    part, begin    the sub-object that they lie in, or the root itself; and where in the root that begins
    between_parts  the root is used in parts, and they lie in none
    suspects       launches that may have done it (positions), the nearest first
    near           for these, the nearest memory that they were given to write, where that is known
    read_only      a launch was given these bytes, but only to read
    by_address     launches know memory by address, and may have one from elsewhere
    """

    change: Change
    root: int
    first: int
    last: int
    part: int
    begin: int
    between_parts: bool
    suspects: tuple[int, ...]
    near: dict[int, Neighbour] = field(default_factory=dict)
    read_only: bool = False
    by_address: bool = False

    @property
    def only(self) -> int | None:
        return self.suspects[0] if len(self.suspects) == 1 else None

    @property
    def nearest(self) -> Neighbour | None:
        return self.near.get(self.suspects[0]) if self.suspects else None

    @property
    def beside(self) -> bool:
        """Does memory of a suspect lie right beside?"""
        return self.nearest is not None and self.nearest.distance <= BESIDE


class Bystanders:
    """Those of one process."""

    def __init__(self, trace: Trace, objects: Objects, launches: Launches, watch: Watch, writers: Writers) -> None:
        self._trace, self._objects, self._launches = trace, objects, launches
        self._watch, self._writers = watch, writers
        self._unjudged: Counter[str] = Counter()

    @cached_property
    def found(self) -> list[Bystander]:
        """In order of time, MOST at most."""
        found: list[Bystander] = []
        for change in self._watch.changes:
            if len(found) < MOST:
                found += self._judge(change)
        return found

    @property
    def unjudged(self) -> Counter[str]:
        """Changes that nobody is known to have been given, and why that says nothing."""
        _ = self.found
        return self._unjudged

    def _judge(self, change: Change) -> list[Bystander]:
        root, _ = self._writers.root(change.object)
        if self._objects.table["kind"][root] not in WATCHED:
            return []
        if change.since < self._trace.whole_since:
            self._unjudged["calls of this interval were overwritten; --keep all keeps them"] += 1
            return []
        if self._writers.mapped(root, change.since, change.position):
            return []
        work = self._writers.between(change.since, change.position)
        spans = self._not_given(work, root, change)
        why = self._doubt(work, root, change) if spans else ""
        if why:
            self._unjudged[why] += 1
        return [] if why else [self._bystander(work, root, change, span) for span in spans]

    def _doubt(self, work: Work, root: int, change: Change) -> str:
        """Why it may have been given all the same."""
        if work.blind:
            return "work ran in between whose memory is not recorded"
        if self._writers.unrecorded:
            return f"the program has functions whose calls are not recorded: {', '.join(self._writers.unrecorded)}"
        if change.held and self._by_address(root):
            return "an address of the memory was seen in other memory, from where kernels may have it"
        begin, size = self._place(root)
        if self._by_address(root) and self._writers.mentioned(begin, begin + size):
            return "the memory was passed to calls by which others can write it, too"
        return ""

    # ---- what was given ----

    def _by_address(self, root: int) -> bool:
        return self._objects.kind(root) == "memory"

    def _place(self, row: int) -> tuple[int, int]:
        return int(self._objects.table["handle"][row]), int(self._objects.table["size"][row])

    def _spans(self, work: Work, root: int) -> list[Span]:
        """What was given for writing, in bytes of the root."""
        found = list(work.spans.get(root, ()))
        if self._by_address(root):
            begin, size = self._place(root)
            found += [
                (first - begin, end - begin) for first, end in work.addresses if first < begin + size and end > begin
            ]
            if holds(work.words, begin - NEAR, begin + size):
                found.append((0, size))
        return found

    def _not_given(self, work: Work, root: int, change: Change) -> list[Span]:
        """The beginning and the end of what changed, as far as not given; of what lies between it is not known whether it
        changed."""
        spans, first, last = self._spans(work, root), change.first, change.last
        first_in = any(begin <= first < end for begin, end in spans)
        last_in = any(begin <= last < end for begin, end in spans)
        behind = min((begin for begin, _ in spans if first < begin <= last), default=last + 1)
        before = max((end for _, end in spans if first < end <= last), default=first)
        if not first_in and not last_in and behind > last:
            return [(first, last)]
        return [*([] if first_in else [(first, behind - 1)]), *([] if last_in else [(before, last)])]

    # ---- who may have been it ----

    def _bystander(self, work: Work, root: int, change: Change, span: Span) -> Bystander:
        part, begin, between = self._part(root, span[0], change.position)
        asked = work.launches[-MOST_ASKED:]
        near = {p: n for p in asked if (n := self._nearest(work, root, p, span)) is not None}
        ranked = sorted(work.launches, key=lambda p: (near[p].distance if p in near else FAR + 1, -p))
        return Bystander(
            change=change,
            root=root,
            first=span[0],
            last=span[1],
            part=part,
            begin=begin,
            between_parts=between,
            suspects=tuple(ranked),
            near=near,
            read_only=self._read_only(work, root, span),
            by_address=self._by_address(root),
        )

    def _part(self, root: int, at: int, position: int) -> tuple[int, int, bool]:
        """The smallest live object inside the root that holds a byte of it; and are there others, but none holds it?"""
        table, found, others = self._objects.table, [], False
        for row in np.flatnonzero(table["parent"] >= 0).tolist():
            alive = int(table["since"][row]) <= position <= int(table["gone"][row])
            its_root, (begin, end) = self._writers.span(row)
            if its_root == root and alive and int(table["size"][row]):
                others = True
                found += [(end - begin, row, begin)] if begin <= at < end else []
        _, part, begin = min(found, default=(0, root, 0))
        return part, begin, others and not found

    def _read_only(self, work: Work, root: int, span: Span) -> bool:
        if self._by_address(root):
            begin, size = self._place(root)
            return holds(work.read_words, begin, begin + size)
        return any(not one.writes and one.span[0] <= span[0] < one.span[1] for one in work.given.get(root, ()))

    def _nearest(self, work: Work, root: int, position: int, span: Span) -> Neighbour | None:
        """The memory that a launch was given for writing and that lies least far from what changed."""
        found = []
        for argument, obj, begin, end in self._writable(work, root, position):
            if end <= span[0]:
                found.append(Neighbour(argument, obj, span[0] - end, False))
            elif begin > span[1]:
                found.append(Neighbour(argument, obj, begin - span[1] - 1, True))
        close = [one for one in found if one.distance <= FAR]
        return min(close, key=lambda one: (one.distance, one.behind), default=None)

    def _writable(self, work: Work, root: int, position: int) -> Iterator[tuple[int, int, int, int]]:
        """(argument, object, first byte, byte behind its last), counted from the start of the root."""
        launch = self._launches.at_position(position)
        if launch is not None and self._launches.by_address[launch] and self._by_address(root):
            yield from self._pointed(launch, self._place(root)[0])
        elif launch is not None:
            yield from self._handed(work, root, position)

    def _pointed(self, launch: int, base: int) -> Iterator[tuple[int, int, int, int]]:
        pointers, declared = self._launches.pointers, self._launches.declared
        rows = pointers.of(launch)
        kernels = np.full(len(rows), self._launches.kernel_row[launch])
        reads = declared.get("read_only", kernels, pointers.index[rows])
        for row, read_only in zip(rows, reads, strict=True):
            obj = int(pointers.object[row])
            if obj >= 0 and pointers.live[row] and not read_only:
                begin, size = self._place(obj)
                yield int(pointers.index[row]), obj, begin - base, begin + size - base

    def _handed(self, work: Work, root: int, position: int) -> Iterator[tuple[int, int, int, int]]:
        """Parts of the same root: where other objects lie is not known."""
        for one in work.given.get(root, ()):
            if one.position == position and one.writes:
                yield one.argument, one.object, *one.span
