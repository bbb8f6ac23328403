"""The walk through the beginnings of epochs and the waits of the host, in order of time, block by block.

A clock holds, for each lane, how many of its operations are complete before an operation begins. What a walk must know
to go on is its `State`: the last clock of each lane, the clocks that operations yet to come wait for, what the host
knows. That is all that is kept of the past; the other clocks of a block are gone when not checked at it any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.operations import KINDS, Operations
from gpudx.facts.order.cuts import Cuts
from gpudx.facts.order.edges import FOR_ALL, FOR_CONTEXT, FOR_OPERATION, FOR_QUEUE, Edges
from gpudx.facts.order.plan import Plan
from gpudx.facts.queues import DEFAULT

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
ANYTHING = np.int32(2**31 - 1)  # of an operation that may come after anything, also after what was asked for later
MOST_LANES = 256  # for all out-of-order queues together; of operations beyond, no order is known
MARKER, BARRIER = KINDS.index("marker"), KINDS.index("barrier")


@dataclass
class State:
    """Where a walk stands between two blocks. Clocks in it are never changed, only replaced."""

    latest: list[I32]  # per lane: the clock of its last epoch
    now: I32  # what the host knows
    count: I32  # operations of each lane up to place `counted`
    last: I32  # operations of each lane of out-of-order queues
    used: int  # lanes in use
    counted: int = 0
    awaited: dict[int, I32] = field(default_factory=dict)  # by epoch: what later blocks wait for
    all: dict[int, I32] = field(default_factory=dict)  # per out-of-order queue: everything in it
    barrier: dict[int, I32] = field(default_factory=dict)
    open: list[tuple[int, int]] = field(default_factory=list)  # (lane, index) of what waits for something unknown
    bounds: I32 | None = None  # what had been asked for when the last of those had ended

    def copy(self) -> State:
        """One that can be walked on from, while this one is kept."""
        return replace(
            self,
            latest=self.latest[:],
            now=self.now.copy(),
            count=self.count.copy(),
            last=self.last.copy(),
            awaited=dict(self.awaited),
            all=dict(self.all),
            barrier=dict(self.barrier),
            open=self.open[:],
        )


@dataclass(frozen=True)
class Block:
    """The clocks of one block.

    rows   first those of lanes whose epoch began before the block (`carried`), then those of its own epochs
    hosts  what the host knew after each of its waits
    """

    first_epoch: int
    first_wait: int
    carried: I32
    rows: I32
    hosts: I32

    def entries(self, epoch: I32, lane: I32, of: I32) -> I32:
        """What operations of some epochs and lanes know of other lanes."""
        own = epoch.astype(np.int64) - self.first_epoch + len(self.carried)
        row = np.where(epoch >= self.first_epoch, own, np.searchsorted(self.carried, lane))
        return self.rows[row, of]


class Walk:
    """What all blocks share: columns by place. `lane` and `index` of out-of-order queues are filled in by the walk."""

    def __init__(self, operations: Operations, edges: Edges, plan: Plan) -> None:
        self.operations, self.edges, self.plan, self.queues = operations, edges, plan, operations.queues
        free = ~self.queues.in_order[plan.queue]
        self.free = bool(free.any())  # are there operations whose lane only the walk finds?
        self.lane = np.where(free, np.int32(-1), plan.queue) if self.free else plan.queue
        self.index = plan.index.copy() if self.free else plan.index
        self.width = len(self.queues) + min(int(free.sum()), MOST_LANES)
        self.cuts = Cuts(plan, self.width)
        self.groups = {int(q): self.queues.group(int(q)) for q in np.flatnonzero(self.queues.kind == DEFAULT)}
        self.wild = Wild(self.width, int(self.cuts.epochs[-1])) if edges.unknown.any() else None

    def begin(self) -> State:
        nothing = np.zeros(self.width, np.int32)
        now, count, last = nothing.copy(), nothing.copy(), nothing.copy()
        return State([nothing] * self.width, now, count, last, len(self.queues))

    def block(self, number: int, state: State) -> tuple[Block, State]:
        """The clocks of a block, and the state after it, from the state before it."""
        return _Steps(self, number, state.copy()).run()


class Wild:
    """Clocks that hold ANYTHING: an operation that has one may come even after operations that were asked for later.

    All others know of no lane more than it had been given. By epoch, the set of lanes of which that is true is kept.
    """

    def __init__(self, width: int, epochs: int) -> None:
        self._sets: dict[bytes, int] = {np.ones(width, bool).tobytes(): 0}
        self._number = np.zeros(epochs, np.int32)

    def see(self, epoch: int, row: I32) -> None:
        self._number[epoch] = self._sets.setdefault((row != ANYTHING).tobytes(), len(self._sets))

    def holds(self, epoch: I32, lane: I32) -> NDArray[np.bool_]:
        """Does the clock of each epoch say that of this lane anything may be complete?"""
        tame = np.frombuffer(b"".join(self._sets), bool).reshape(len(self._sets), -1)
        return ~tame[self._number[epoch], lane]


class _Steps:
    """One block, step by step."""

    def __init__(self, walk: Walk, number: int, state: State) -> None:
        self.walk, self.number, self.state = walk, number, state
        self.plan, self.edges, self.queues, cuts = walk.plan, walk.edges, walk.queues, walk.cuts
        self.lane, self.index = walk.lane, walk.index
        self.first, self.end = (int(p) for p in cuts.places[number : number + 2])
        self.wait, self.wait_end = (int(w) for w in cuts.waits[number : number + 2])
        self.epoch, self.epoch_end = (int(e) for e in cuts.epochs[number : number + 2])
        early = self.plan.epoch[self.first : self.end] < self.epoch
        self.carried = np.unique(self.lane[self.first : self.end][early])
        self.rows = np.empty((len(self.carried) + self.epoch_end - self.epoch, walk.width), np.int32)
        for row, lane in enumerate(self.carried.tolist()):
            self.rows[row] = state.latest[lane]
        self.fresh = list(self.rows[len(self.carried) :])  # by epoch
        self.begun = 0  # epochs of the block
        self.hosts = np.empty((self.wait_end - self.wait, walk.width), np.int32)

    def run(self) -> tuple[Block, State]:
        waits = self._waits()
        for what, queue, special in self._items():
            if what >= 0:
                self._start(what, queue, special, waits.get(what, ()))
            else:
                self._host(-1 - what)
        block = Block(self.epoch, self.wait, self.carried, self.rows, self.hosts)
        self._leave()
        return block, self.state

    def _items(self) -> list[tuple[int, int, bool]]:
        """(place of a beginning, its queue, whether it is special), and (-1 - number of a wait, 0, False), by time."""
        plan = self.plan
        places = self.first + np.flatnonzero(plan.starts[self.first : self.end])
        found = list(zip(places.tolist(), plan.queue[places].tolist(), plan.special[places].tolist(), strict=True))
        if self.wait == self.wait_end:
            return found
        numbers = np.arange(self.wait, self.wait_end)
        found += [(-1 - number, 0, False) for number in numbers.tolist()]
        before = np.concatenate([2 * places + 1, 2 * plan.host.before[numbers]])
        return [found[at] for at in np.argsort(before, kind="stable").tolist()]

    def _waits(self) -> dict[int, list[int]]:
        """Place -> places of the operations that it waits for."""
        owner, target = self.plan.waits
        low, high = np.searchsorted(owner, [self.first, self.end])
        found: dict[int, list[int]] = {}
        for one, other in zip(owner[low:high].tolist(), target[low:high].tolist(), strict=True):
            found.setdefault(one, []).append(other)
        return found

    def _leave(self) -> None:
        """Takes along what is needed later, as copies: nothing may hold on to the block's clocks."""
        state, (epochs, until) = self.state, self.walk.cuts.crossing
        state.latest = [row.copy() if row.base is not None else row for row in state.latest]
        low, high = np.searchsorted(epochs, [self.epoch, self.epoch_end])
        for epoch in epochs[low:high].tolist():
            state.awaited[epoch] = self.fresh[epoch - self.epoch].copy()
        held = np.fromiter(state.awaited, np.int64, len(state.awaited))
        for epoch in held[until[np.searchsorted(epochs, held)] <= self.number].tolist():
            del state.awaited[epoch]

    # ---- operations ----

    def _start(self, place: int, queue: int, special: bool, waits: list[int] | tuple[()]) -> None:
        state, row = self.state, self.fresh[self.begun]
        self.begun += 1
        np.maximum(state.latest[queue], state.now, out=row)
        for other in waits:
            self._after(row, other)
        if special:
            self._more(row, place, queue)
        if state.bounds is not None and not state.open:
            np.copyto(row, state.bounds, where=row == ANYTHING)
        if not special or self.queues.in_order[queue]:
            row[queue] = self.index[place]
            state.latest[queue] = row
        else:
            self._free(row, place, queue)
        if self.walk.wild is not None:
            self._doubt(row, place)

    def _more(self, row: I32, place: int, queue: int) -> None:
        """Default queues, marks of whole contexts, and waits for something unknown."""
        plan, at = self.plan, self.plan.rows[place]
        if plan.default[place] >= 0:
            self._after_lanes(row, plan.default[place : place + 1], place)
        if plan.gathers[place]:
            self._after_lanes(row, self.walk.groups[queue], place)
        if self.edges.after_all[at]:
            self._everything(row, place)
        if self.edges.unknown[at]:
            self.state.bounds = None
            row.fill(ANYTHING)

    def _doubt(self, row: I32, place: int) -> None:
        """What waits for something unknown, and what comes after such an operation."""
        assert self.walk.wild is not None
        self.walk.wild.see(int(self.plan.epoch[place]), row)
        if self.edges.unknown[self.plan.rows[place]]:
            self.state.open.append((int(self.lane[place]), int(self.index[place])))

    def _after(self, row: I32, other: int) -> None:
        """A clock comes after the operation at a place."""
        lane, epoch = self.lane[other], int(self.plan.epoch[other])
        known = self.fresh[epoch - self.epoch] if epoch >= self.epoch else self.state.awaited[epoch]
        np.maximum(row, known, out=row)
        if lane >= 0:
            row[lane] = max(row[lane], self.index[other] + 1)

    def _after_lanes(self, row: I32, lanes: NDArray[np.integer], place: int) -> None:
        """A clock comes after all that these lanes were given before a place."""
        self._count(place)
        for lane in lanes.tolist():
            np.maximum(row, self.state.latest[lane], out=row)
        row[lanes] = np.maximum(row[lanes], self.state.count[lanes])

    def _count(self, place: int) -> None:
        """Counts the operations of each lane up to a place."""
        state = self.state
        if place > state.counted:
            lanes = self.lane[state.counted : place]
            state.count += np.bincount(lanes[lanes >= 0], minlength=self.walk.width).astype(np.int32)
            state.counted = place

    def _everything(self, row: I32, place: int) -> None:
        self._count(place)
        np.maximum(row, self.state.count, out=row)

    # ---- out-of-order queues ----

    def _free(self, row: I32, place: int, queue: int) -> None:
        """An operation of an out-of-order queue: after barriers, and where it is one without a list, after all."""
        at, state = self.plan.rows[place], self.state
        kind, before = int(self.walk.operations.table["kind"][at]), state.all.get(queue)
        if queue in state.barrier:
            np.maximum(row, state.barrier[queue], out=row)
        if before is not None and kind in (MARKER, BARRIER) and not self.edges.listing[at]:
            np.maximum(row, before, out=row)
        lane = self._lane(row)
        self.lane[place], self.index[place] = lane, state.last[lane]
        done = row.copy()
        if lane >= 0:
            row[lane] = self.index[place]
            done[lane] = state.last[lane] = self.index[place] + 1
            state.latest[lane] = row
        state.all[queue] = done if before is None else np.maximum(before, done)
        if kind == BARRIER:
            state.barrier[queue] = done

    def _lane(self, row: I32) -> int:
        """A lane whose operations are all complete, else a new one, else none."""
        first, state = len(self.queues), self.state
        fits = np.flatnonzero(row[first : state.used] >= state.last[first : state.used])
        if len(fits):
            return first + int(fits[0])
        if state.used == self.walk.width:
            return -1
        state.used += 1
        return state.used - 1

    # ---- the host ----

    def _host(self, number: int) -> None:
        host, state = self.plan.host, self.state
        kind, value, place = int(host.kind[number]), int(host.value[number]), int(host.before[number])
        if kind == FOR_OPERATION:
            if self.plan.rank[value] < place:  # what waits for a signal that never came has not begun
                self._after(state.now, int(self.plan.rank[value]))
        elif kind == FOR_QUEUE:
            self._after_queue(value, place)
        elif kind == FOR_CONTEXT:
            for queue in self.queues.of_context(value).tolist():
                self._after_queue(queue, place)
        elif kind == FOR_ALL:
            self._everything(state.now, place)
        if state.open or state.bounds is not None:
            self._settle(place)
        self.hosts[number - self.wait] = state.now

    def _after_queue(self, queue: int, place: int) -> None:
        """All that a queue was given; a default queue's group with it."""
        groups, now = self.walk.groups, self.state.now
        self._after_lanes(now, np.append(groups[queue], queue) if queue in groups else np.array([queue]), place)
        if queue in self.state.all:
            np.maximum(now, self.state.all[queue], out=now)

    def _settle(self, place: int) -> None:
        """The host cannot know of the end of what was not asked for yet."""
        self._count(place)
        state = self.state
        np.copyto(state.now, state.count, where=state.now == ANYTHING)
        if state.open and all(lane >= 0 and state.now[lane] > index for lane, index in state.open):
            state.open.clear()
            state.bounds = state.count.copy()
