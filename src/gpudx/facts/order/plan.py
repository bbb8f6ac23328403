"""Before the walk: operations in the order in which they can have begun, and which of them may learn something new.

A lane is a chain of operations, each of which begins when the one before it is complete: an in-order queue is one, the
operations of out-of-order queues are put into as many as they need while they are walked through. Most operations know
what the one before them in their lane knew, and no more: they share its clock, as one epoch. All columns are by place in
the order of beginning, and as narrow as they can be: they are what is held for each operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.operations import KINDS, Operations, numbered, places
from gpudx.facts.order.edges import FIRST_SIGNAL, FOR_OPERATION, NEVER, Edges
from gpudx.facts.queues import DEFAULT
from gpudx.trace import Trace
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]
BARRIER = KINDS.index("barrier")


@dataclass(frozen=True)
class Host:
    """What the host waited for, by time: kind and value as of Edges.host, positions, and how many places come before."""

    kind: I64
    value: I64
    position: I64
    time: I64
    before: I64


@dataclass(frozen=True)
class Plan:
    """What is known before the walk.

    rows     place -> row of Operations; `rank` is the other way round
    queue    of the operation at each place
    index    how many of its queue come before it
    epoch    the last beginning of one in its queue, up to it
    starts   it begins an epoch: it may learn something that the one before it did not know
    special  more applies to it than its queue and its wait list
    gathers  an operation of a default queue that comes after all queues of its group
    default  the default queue that an operation comes after, -1 if none
    reached  places from here on wait for signals that never came
    waits    (place, place of an operation that it waits for), by the first
    """

    rows: I32
    rank: I32
    queue: I32
    index: I32
    epoch: I32
    starts: Bool
    special: Bool
    gathers: Bool
    default: I32
    reached: int
    waits: tuple[I32, I32]
    host: Host

    def __len__(self) -> int:
        return len(self.rows)


def derive_plan(trace: Trace, operations: Operations, edges: Edges) -> Plan:
    when = _begins(trace, operations, edges)
    rows, rank = _by_time(when)
    host = _host(edges, when, rows)
    queue = operations.table["queue"] if rank is rows else operations.table["queue"][rows]
    before = _previous(queue, len(operations.queues))
    default, gathers = _defaults(operations, queue, before)
    special = (default >= 0) | gathers | (edges.unknown | edges.after_all)[rows]
    special |= ~operations.queues.in_order[queue]
    starts = special | edges.listing[rows] | (before < 0)
    if len(host.time):
        version = np.searchsorted(host.before, np.arange(len(rows)), side="right").astype(np.int32)
        starts |= version != version[before]
    reached = int(np.searchsorted(when[rows], NEVER))
    epoch, waits = _epochs(queue, starts, len(operations.queues)), _waits(edges, rank)
    index = operations.table["index"] if rank is rows else places(queue)
    return Plan(rows, rank, queue, index, epoch, starts, special, gathers, default, reached, waits, host)


def _begins(trace: Trace, operations: Operations, edges: Edges) -> I64:
    """When each operation can have begun: when it was asked for, but not before a signal of the host that it waits for."""
    table = operations.table
    when = trace.column("begin", table["position"]).view(np.int64)
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


def _by_time(when: I64) -> tuple[I32, I32]:
    """Operations by time, and the place of each. Only signals of the host bring them out of the order of recording."""
    if not len(when) or (when[1:] >= when[:-1]).all():
        same = np.arange(len(when), dtype=np.int32)
        return same, same
    rows = np.argsort(when, kind="stable").astype(np.int32)
    rank = np.empty_like(rows)
    rank[rows] = np.arange(len(rows), dtype=np.int32)
    return rows, rank


def _host(edges: Edges, when: I64, rows: I32) -> Host:
    """The host cannot have waited for an operation before that can have begun."""
    time, kind, value, position = edges.host
    target = np.where(kind == FOR_OPERATION, value, 0)
    begun = when[target] if len(when) else np.zeros(len(target), np.int64)
    time = np.where((kind == FOR_OPERATION) & (begun >= time), np.minimum(begun, NEVER - 1) + 1, time)
    order = np.argsort(time, kind="stable")
    time = time[order]
    before = np.searchsorted(when[rows], time, side="left") if len(time) else time
    return Host(kind[order], value[order], position[order], time, before)


def _waits(edges: Edges, rank: I32) -> tuple[I32, I32]:
    owner, target = edges.waits
    keep = target >= 0
    one, other = rank[owner[keep]], rank[target[keep]]
    order = np.argsort(one, kind="stable")
    return one[order], other[order]


def _previous(queue: I32, queues: int) -> I32:
    """The place of the operation before each in its queue, -1 for the first."""
    before, last = np.empty(len(queue), np.int32), np.full(queues, -1, np.int32)
    for some in slices(len(queue)):
        place = some.start + numbered(queue[some])
        mine = queue[place]
        same = np.append(False, mine[1:] == mine[:-1])
        before[place] = np.where(same, np.append(-1, place[:-1]), last[mine])
        last[mine] = place
    return before


def _epochs(queue: I32, starts: Bool, queues: int) -> I32:
    """The epoch of each operation: that of the last beginning up to it in its queue."""
    epoch, last, begun = np.empty(len(queue), np.int32), np.zeros(queues, np.int32), 0
    for some in slices(len(queue)):
        place = some.start + numbered(queue[some])
        mine, number = queue[place], begun + np.cumsum(starts[some])
        at = np.maximum.accumulate(np.where(starts[place], np.arange(len(place)), -1))
        here = at >= np.searchsorted(mine, mine)
        epoch[place] = last[mine] = np.where(here, number[place[at] - some.start] - 1, last[mine])
        begun = int(number[-1])
    return epoch


def _defaults(operations: Operations, queue: I32, before: I32) -> tuple[I32, Bool]:
    """The order between a context's default queue and its group, both ways (CUDA driver API, "Stream synchronization
    behavior"): where an operation must be joined with the other side because that has got something new."""
    queues, count = operations.queues, len(queue)
    groups = {int(one): queues.group(int(one)) for one in np.flatnonzero(queues.kind == DEFAULT)}
    if not any(map(len, groups.values())):
        return np.broadcast_to(np.int32(-1), count), np.broadcast_to(np.bool_(False), count)  # no memory
    default, gathers = np.full(count, -1, np.int32), np.zeros(count, bool)
    for one, members in groups.items():
        mine = np.flatnonzero((queue == one) | np.isin(queue, members))
        is_one = queue[mine] == one
        gathers[mine] |= is_one & np.append(False, ~is_one[:-1])
        given = np.zeros(count, np.int32)
        given[mine] = np.cumsum(is_one)
        earlier = np.where(before[mine] >= 0, given[before[mine]], 0)
        default[mine[~is_one & (given[mine] > earlier)]] = one
    return default, gathers
