"""Vector clocks: how much of every queue is complete before an operation begins.

A lane is a chain of operations, each of which begins when the one before it is complete: an in-order queue is one, the
operations of out-of-order queues are put into as many as they need. A clock holds, for each lane, how many of its
operations are complete. Most operations know what the one before them in their lane knew, and no more: they share its
clock, as one epoch. Only the beginnings of epochs and the waits of the host are walked through one by one; everything
else is worked out in columns.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.edges import FIRST_SIGNAL, FOR_ALL, FOR_CONTEXT, FOR_OPERATION, FOR_QUEUE, NEVER, Edges
from gpudx.facts.operations import KINDS, Operations, places
from gpudx.facts.queues import DEFAULT
from gpudx.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]
ANYTHING = np.int32(2**31 - 1)  # of an operation that may come after anything, also after what was asked for later
MOST_BYTES = 1 << 28  # of clocks that are held in memory; more are put into a file that has no name
MOST_LANES = 256  # for all out-of-order queues together; of operations beyond, no order is known
MARKER, BARRIER = KINDS.index("marker"), KINDS.index("barrier")


@dataclass(frozen=True)
class Clocks:
    """Columns by operation, and the clocks.

    lane, index  where it stands; lane -1: no order is known of it
    epoch        the row of `rows` that holds before it began
    rank         its place in the order in which operations can have begun
    hosts        what the host knew after so many of its waits; `times` are their ends, `waits` their positions
    when         when it can have begun
    """

    lane: I32
    index: I32
    epoch: I32
    rank: I64
    rows: I32
    hosts: I32
    times: I64
    waits: I64
    when: I64

    def ordered(self, first: I64, second: I64) -> Bool:
        """Is each first operation complete before the second begins?"""
        lane, index = self.lane[first], self.index[first]
        lost = (lane < 0) | (self.lane[second] < 0)
        same = lane == self.lane[second]
        known = self.rows[self.epoch[second], lane.clip(0)] > index
        return lost | np.where(same, index < self.index[second], known)

    def known(self, first: I64, times: I64) -> Bool:
        """Did the host know at these times that the operations were complete?"""
        after = np.searchsorted(self.times, times, side="right")
        return (self.lane[first] < 0) | (self.hosts[after, self.lane[first].clip(0)] > self.index[first])


def begins(trace: Trace, operations: Operations, edges: Edges) -> I64:
    """When each operation can have begun: when it was asked for, but not before a signal of the host that it waits for."""
    table = operations.table
    when = trace.column("begin", table["position"]).astype(np.int64)
    owner, target = edges.waits
    if not (target <= FIRST_SIGNAL).any():
        return when
    order = np.argsort(owner, kind="stable")
    waits = iter(zip(owner[order].tolist(), target[order].tolist(), strict=True))
    held = next(waits, None)
    latest = [0] * len(operations.queues)  # per in-order queue, and per barrier of others
    signalled, times = edges.signalled.tolist(), when.tolist()
    in_order, kinds = operations.queues.in_order.tolist(), table["kind"].tolist()
    for row, queue in enumerate(table["queue"].tolist()):
        time = max(times[row], latest[queue])
        while held is not None and held[0] == row:
            if held[1] <= FIRST_SIGNAL:
                time = max(time, signalled[FIRST_SIGNAL - held[1]])
            elif held[1] >= 0:
                time = max(time, times[held[1]])
            held = next(waits, None)
        times[row] = time
        if in_order[queue] or kinds[row] == BARRIER:
            latest[queue] = time
    return np.array(times, np.int64)


@dataclass(frozen=True)
class _Plan:
    """What is known before the walk: operations in the order in which they can have begun."""

    rows: I64  # place in that order -> row of Operations
    when: I64
    queue: I64
    index: I64
    starts: Bool
    default: I64  # the default queue that an operation comes after, -1 if none
    gathers: Bool  # an operation of a default queue that comes after all queues of its group


def _plan(operations: Operations, edges: Edges, when: I64, host_times: I64) -> _Plan:
    rows = np.argsort(when, kind="stable")
    queue = operations.table["queue"][rows].astype(np.int64)
    index, before = places(queue.astype(np.int32)), _previous(queue)
    default, gathers = _defaults(operations, queue, before)
    version = np.searchsorted(host_times, when[rows], side="right")
    starts = (before < 0) | (version != version[before]) | (default >= 0) | gathers
    starts |= (edges.listing | edges.unknown | edges.after_all)[rows] | ~operations.queues.in_order[queue]
    return _Plan(rows, when[rows], queue, index, starts, default, gathers)


def _previous(queue: I64) -> I64:
    """The place of the operation before each in its queue, -1 for the first."""
    order = np.argsort(queue, kind="stable")
    before = np.full(len(queue), -1, np.int64)
    same = queue[order][1:] == queue[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def _defaults(operations: Operations, queue: I64, before: I64) -> tuple[I64, Bool]:
    """The order between a context's default queue and its group, both ways (CUDA driver API, "Stream synchronization
    behavior"): where an operation must be joined with the other side because that has got something new."""
    default, gathers = np.full(len(queue), -1, np.int64), np.zeros(len(queue), bool)
    queues = operations.queues
    for one in np.flatnonzero(queues.kind == DEFAULT):
        members = queues.group(int(one))
        mine = np.flatnonzero((queue == one) | np.isin(queue, members))
        if not len(members):
            continue
        is_one = queue[mine] == one
        gathers[mine] |= is_one & np.append(False, ~is_one[:-1])
        count = np.zeros(len(queue), np.int64)
        count[mine] = np.cumsum(is_one)
        earlier = np.where(before[mine] >= 0, count[before[mine]], 0)
        default[mine[~is_one & (count[mine] > earlier)]] = one
    return default, gathers


class _Walk:
    """The walk over beginnings of epochs and waits of the host, in order of time."""

    def __init__(self, operations: Operations, edges: Edges, plan: _Plan, host: tuple[I64, I64, I64]) -> None:
        self.operations, self.edges, self.plan, self.queues = operations, edges, plan, operations.queues
        self.host_times, self.host_kind, self.host_value = host
        n, self.width = len(plan.rows), len(self.queues) + self._lanes()
        self.lane = np.where(self.queues.in_order[plan.queue], plan.queue, -1).astype(np.int32)
        self.index = plan.index.astype(np.int32)
        self.epoch = _epochs(plan)
        self.rows = _clocks(int(plan.starts.sum()), self.width)
        self.hosts = _clocks(len(self.host_times) + 1, self.width)
        self.current = np.full(self.width, -1, np.int64)  # epoch of each lane
        self.count = np.zeros(self.width, np.int32)
        self.counted = 0  # places up to which `count` goes
        self.now = np.zeros(self.width, np.int32)  # what the host knows
        self.place = np.empty(n, np.int64)  # of a row of Operations
        self.place[plan.rows] = np.arange(n)
        self.open: list[tuple[int, int]] = []  # (lane, index) of operations that wait for something unknown
        self.bounds: I32 | None = None  # what had been asked for when the last of those had ended
        self.all: dict[int, I32] = {}  # per out-of-order queue: everything in it
        self.barrier: dict[int, I32] = {}
        self.used = len(self.queues)
        self.last = np.zeros(self.width, np.int32)  # operations of each lane of out-of-order queues
        self.waits = self._waits()
        self.groups = {int(q): self.queues.group(int(q)) for q in np.flatnonzero(self.queues.kind == DEFAULT)}

    def _lanes(self) -> int:
        free = int((~self.queues.in_order[self.plan.queue]).sum())
        return min(free, MOST_LANES)

    def _waits(self) -> dict[int, list[int]]:
        """Place -> places of the operations that it waits for."""
        owner, target = self.edges.waits
        keep = target >= 0
        found: dict[int, list[int]] = {}
        for one, other in zip(self.place[owner[keep]].tolist(), self.place[target[keep]].tolist(), strict=True):
            found.setdefault(one, []).append(other)
        return found

    def run(self) -> None:
        starts = np.flatnonzero(self.plan.starts)
        time = np.concatenate([self.host_times, self.plan.when[starts]])
        what = np.concatenate([-1 - np.arange(len(self.host_times)), starts])
        order = np.lexsort((what >= 0, time))  # what the host learnt at a time it knew for what it began then
        before = np.searchsorted(self.plan.when, time[order], side="left")
        queue = np.append(self.plan.queue[starts], np.zeros(len(self.host_times), np.int64))[
            order - len(self.host_times)
        ]
        special = np.append(self._special()[starts], np.zeros(len(self.host_times), bool))[order - len(self.host_times)]
        columns = (what[order], before, queue, special)
        for one, place, number, extra in zip(*(column.tolist() for column in columns), strict=True):
            if one >= 0:
                self._start(one, number, extra)
            else:
                self._wait(-1 - one, place)

    def _special(self) -> Bool:
        """Places of operations to which more applies than their queue and their wait list."""
        plan, edges = self.plan, self.edges
        found = (plan.default >= 0) | plan.gathers | ~self.queues.in_order[plan.queue]
        return found | (edges.unknown | edges.after_all)[plan.rows]

    # ---- operations ----

    def _start(self, place: int, queue: int, special: bool) -> None:
        epoch = self.epoch[place]
        row, last = self.rows[epoch], self.current[queue]
        if last >= 0:
            np.maximum(self.rows[last], self.now, out=row)
        else:
            np.copyto(row, self.now)
        for other in self.waits.get(place, ()):
            self._after(row, other)
        if special:
            self._more(row, place, queue)
        if self.bounds is not None and not self.open:
            np.copyto(row, self.bounds, where=row == ANYTHING)
        if not special or self.queues.in_order[queue]:
            row[queue] = self.index[place]
            self.current[queue] = epoch
        else:
            self._free(row, place, queue)
        if special and self.edges.unknown[self.plan.rows[place]]:
            self.open.append((int(self.lane[place]), int(self.index[place])))

    def _more(self, row: I32, place: int, queue: int) -> None:
        """Default queues, marks of whole contexts, and waits for something unknown."""
        plan, at = self.plan, self.plan.rows[place]
        if plan.default[place] >= 0:
            self._after_lanes(row, plan.default[place : place + 1], place)
        if plan.gathers[place]:
            self._after_lanes(row, self.groups[queue], place)
        if self.edges.after_all[at]:
            self._everything(row, place)
        if self.edges.unknown[at]:
            self.bounds = None
            row.fill(ANYTHING)

    def _after(self, row: I32, other: int) -> None:
        """A clock comes after the operation at a place."""
        lane = self.lane[other]
        np.maximum(row, self.rows[self.epoch[other]], out=row)
        if lane >= 0:
            row[lane] = max(row[lane], self.index[other] + 1)

    def _after_lanes(self, row: I32, lanes: I64, place: int) -> None:
        """A clock comes after all that these lanes were given before a place."""
        self._count(place)
        begun = self.current[lanes]
        for epoch in begun[begun >= 0].tolist() if len(lanes) < 4 else ():
            np.maximum(row, self.rows[epoch], out=row)
        if len(lanes) >= 4 and (begun >= 0).any():
            np.maximum(row, self.rows[begun[begun >= 0]].max(axis=0), out=row)
        row[lanes] = np.maximum(row[lanes], self.count[lanes])

    def _count(self, place: int) -> None:
        """Counts the operations of each lane up to a place."""
        if place > self.counted:
            lanes = self.lane[self.counted : place]
            self.count += np.bincount(lanes[lanes >= 0], minlength=self.width).astype(np.int32)
            self.counted = place

    def _everything(self, row: I32, place: int) -> None:
        self._count(place)
        np.maximum(row, self.count, out=row)

    # ---- out-of-order queues ----

    def _free(self, row: I32, place: int, queue: int) -> None:
        """An operation of an out-of-order queue: after barriers, and where it is one without a list, after all."""
        at = self.plan.rows[place]
        kind, all_ = int(self.operations.table["kind"][at]), self.all.setdefault(queue, np.zeros(self.width, np.int32))
        if queue in self.barrier:
            np.maximum(row, self.barrier[queue], out=row)
        if kind in (MARKER, BARRIER) and not self.edges.listing[at]:
            np.maximum(row, all_, out=row)
        lane = self._lane(row)
        self.lane[place], self.index[place] = lane, self.last[lane]
        done = row.copy()
        if lane >= 0:
            row[lane] = self.index[place]
            done[lane] = self.index[place] + 1
            self.current[lane] = self.epoch[place]
            self.last[lane] = self.index[place] + 1
        np.maximum(all_, done, out=all_)
        if kind == BARRIER:
            self.barrier[queue] = done

    def _lane(self, row: I32) -> int:
        """A lane whose operations are all complete, else a new one, else none."""
        first = len(self.queues)
        fits = np.flatnonzero(row[first : self.used] >= self.last[first : self.used])
        if len(fits):
            return first + int(fits[0])
        if self.used == self.width:
            return -1
        self.used += 1
        return self.used - 1

    # ---- the host ----

    def _wait(self, number: int, place: int) -> None:
        kind, value, now = int(self.host_kind[number]), int(self.host_value[number]), self.now
        if kind == FOR_OPERATION:
            if self.epoch[self.place[value]] >= 0:
                self._after(now, int(self.place[value]))
        elif kind == FOR_QUEUE:
            self._after_queue(now, value, place)
        elif kind == FOR_CONTEXT:
            for queue in self.queues.of_context(value).tolist():
                self._after_queue(now, queue, place)
        elif kind == FOR_ALL:
            self._everything(now, place)
        if self.open or self.bounds is not None:
            self._settle(place)
        self.hosts[number + 1] = now

    def _after_queue(self, now: I32, queue: int, place: int) -> None:
        """All that a queue was given; a default queue's group with it."""
        lanes = np.append(self.groups[queue], queue) if queue in self.groups else np.array([queue])
        self._after_lanes(now, lanes, place)
        if queue in self.all:
            np.maximum(now, self.all[queue], out=now)

    def _settle(self, place: int) -> None:
        """The host cannot know of the end of what was not asked for yet."""
        self._count(place)
        np.copyto(self.now, self.count, where=self.now == ANYTHING)
        if self.open and all(lane >= 0 and self.now[lane] > index for lane, index in self.open):
            self.open.clear()
            self.bounds = self.count.copy()


def _clocks(count: int, width: int) -> I32:
    """Room for clocks. A walk writes them one after the other and looks at few of them again, so a file does."""
    if count * width * 4 <= MOST_BYTES:
        return np.zeros((count, width), np.int32)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.int32, "w+", shape=(count, width))


def _epochs(plan: _Plan) -> I32:
    """The epoch of each operation: that of the last beginning up to it in its queue."""
    numbers = np.cumsum(plan.starts) - 1
    order = np.argsort(plan.queue, kind="stable")
    last = np.maximum.accumulate(np.where(plan.starts[order], np.arange(len(order)), 0))
    epoch = np.zeros(len(order), np.int32)
    epoch[order] = numbers[order[last]]
    return epoch


def derive_clocks(trace: Trace, operations: Operations, edges: Edges) -> Clocks:
    """Walks through the record once."""
    when = begins(trace, operations, edges)
    time, kind, value, positions = edges.host
    target = np.where(kind == FOR_OPERATION, value, 0)
    begun = when[target] if len(when) else np.zeros(len(target), np.int64)
    time = np.where((kind == FOR_OPERATION) & (begun >= time), np.minimum(begun, NEVER - 1) + 1, time)
    order = np.argsort(time, kind="stable")
    plan = _plan(operations, edges, when, time[order])
    walk = _Walk(operations, edges, plan, (time[order], kind[order], value[order]))
    walk.run()
    lane, index, epoch = (np.empty(len(when), np.int32) for _ in range(3))
    lane[plan.rows], index[plan.rows], epoch[plan.rows] = walk.lane, walk.index, walk.epoch
    lane[when == NEVER] = -1  # waits for a signal that never came
    return Clocks(lane, index, epoch, walk.place, walk.rows, walk.hosts, time[order], positions[order], when)
