"""Which calls gave queues work, waited or failed, and when: the columns of a timeline.

Times are those of calls on the host. When the device did the work is not recorded, and not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.operations import field_of, has_field, is_operation
from gpudx.facts.queues import Queues
from gpudx.figures.accused import Accused
from gpudx.figures.columns import column, gaps
from gpudx.model.drawing import KINDS, STATES, Pin, Role, Timeline
from gpudx.trace import CallInfo, Trace

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
WORK = ("copy", "fill", "map", "unmap", "migrate")
ORDERING = ("queue_wait", "marker", "barrier", "callback", "other")
WAITS = ("wait", "poll")
MOST_LANES = 400  # queues, and threads, that get a line of their own
MOST_NAMES = 60_000
SHORT_NS = 100_000_000  # up to this length a timeline is kept in nanoseconds
ROUGH_NS = 100  # else in these, or in as many as 32 bits demand


@dataclass(frozen=True)
class _Rows:
    """Rows to be drawn: where their calls stand, until when they last, and of how many calls each is."""

    position: I64
    begin: NDArray[np.uint64]
    end: NDArray[np.uint64]
    several: Bool


def of(facts: Facts, accused: Accused, most: int) -> Timeline | None:
    """The timeline of one process, of at most some `most` rows; None if there is nothing to draw."""
    trace = facts.trace
    pinned = _pinned(trace, accused)
    positions, left_out = _chosen(trace, [at for _, at in pinned], most)
    if not len(positions):
        return None
    queue, queues = _queues(facts, positions)
    thread, threads = _lanes(trace.column("tid", positions).astype(np.int64))
    rows, kept, step = _merged(trace, positions, queue, [at for _, at in pinned], most)
    name, names = _names(facts, rows.position)
    unit, begin, span = _times(trace, rows)
    columns = {
        "gap": column(gaps(begin), 4),
        "span": column(span, 4),
        "call": column(gaps(rows.position + 1), 4),
        "name": column(name, 2),
        "queue": column(queue[kept], 2),
        "thread": column(thread[kept], 2),
        "kind": column(_kinds(trace)[trace.call[rows.position]], 1),
        "state": column(_states(trace, rows), 1),
    }
    pins = tuple(Pin(role, int(np.searchsorted(rows.position, at))) for role, at in pinned)
    labels = tuple(f"thread {tid}" if tid >= 0 else "other threads" for tid in threads)
    command = " ".join(trace.argv) or trace.exe
    return Timeline(trace.pid, command, unit, columns, names, queues, labels, pins, left_out, step)


def _pinned(trace: Trace, accused: Accused) -> list[tuple[Role, int]]:
    """Positions of the calls that the diagnosis speaks of, each in its heaviest role."""
    if trace.pid != accused.pid:
        return []
    roles: dict[int, Role] = dict.fromkeys(accused.evidence, "evidence")
    if accused.victim is not None:
        roles[accused.victim] = "victim"
    if accused.guilty is not None:
        roles[accused.guilty] = "guilty"
    return [(role, number - 1) for number, role in sorted(roles.items()) if 0 < number <= len(trace)]


# ---- which calls ----


def _chosen(trace: Trace, pinned: list[int], most: int) -> tuple[I64, int]:
    """Positions in order, and how many calls were left out because they only order queues."""
    calls = trace.schema.calls
    drawn = [is_operation(c) or (c.does in WAITS and c.word("queue") is not None) for c in calls]
    order_only = np.array([c.does in ORDERING for c in calls], bool)[trace.call]
    wanted = np.array(drawn, bool)[trace.call]
    special = _special(trace, pinned)
    left_out = wanted & order_only & ~special
    if int((wanted | special).sum()) > most:
        return np.flatnonzero((wanted & ~order_only) | special), int(left_out.sum())
    return np.flatnonzero(wanted | special), 0


def _special(trace: Trace, pinned: list[int]) -> Bool:
    """Calls that are always drawn: those that failed or never returned, and those that the diagnosis speaks of."""
    special: Bool = ((trace.column("status") != 0) | (trace.column("end") == 0)) & ~trace.is_note
    special[pinned] = True
    return special


def _merged(trace: Trace, positions: I64, queue: I64, pinned: list[int], most: int) -> tuple[_Rows, I64, int]:
    """Rows, which of `positions` each begins with, and the most calls that one row stands for."""
    begin, end = trace.column("begin", positions), trace.column("end", positions)
    end = np.where(end == 0, trace.column("begin")[-1], end)
    step = -(-len(positions) // most)
    if step <= 1:
        return _Rows(positions, begin, end, np.zeros(len(positions), bool)), np.arange(len(positions)), 1
    special = _special(trace, pinned)[positions]
    order = np.lexsort((np.arange(len(positions)), special, queue))
    lane, own = queue[order], special[order]
    starts = np.append(True, (lane[1:] != lane[:-1]) | (own[1:] != own[:-1]))
    nth = np.arange(len(order)) - np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    heads = np.flatnonzero(own | (nth % step == 0))
    last = np.maximum.reduceat(end[order], heads)
    counts = np.diff(np.append(heads, len(order)))
    by_time = np.argsort(order[heads], kind="stable")
    kept = order[heads][by_time]
    return _Rows(positions[kept], begin[kept], last[by_time], counts[by_time] > 1), kept, step


# ---- what they are ----


def _kinds(trace: Trace) -> NDArray[np.uint8]:
    """By call number."""
    return np.array([KINDS.index(_kind(c)) for c in trace.schema.calls], np.uint8)


def _kind(call: CallInfo) -> str:
    if call.does in ("launch", "launch_graph", "native_kernel"):
        return "launch"
    return "copy or fill" if call.does in WORK else "wait" if call.does in WAITS else "other call"


def _states(trace: Trace, rows: _Rows) -> NDArray[np.uint8]:
    done = trace.column("end", rows.position) != 0
    flag = trace.schema.flags.get("captured", 0)
    captured = (trace.column("flags", rows.position) & flag) != 0
    bits = (done & (trace.column("status", rows.position) != 0), ~done, captured, rows.several)
    assert len(bits) == len(STATES)
    state = np.zeros(len(rows.position), np.uint8)
    for number, bit in enumerate(bits):
        state |= bit.astype(np.uint8) << np.uint8(number)
    return state


def _names(facts: Facts, positions: I64) -> tuple[I64, tuple[str, ...]]:
    """The kernel of each launch, else the call, as places in a list of names."""
    trace, launches = facts.trace, facts.launches
    calls = len(trace.schema.calls)
    codes = trace.call[positions].astype(np.int64)
    if len(launches):
        row = np.searchsorted(launches.position, positions).clip(0, len(launches) - 1)
        function = facts.kernels.functions(launches.kernel_row[row])
        known = (launches.position[row] == positions) & (launches.kernel_row[row] >= 0) & (function >= 0)
        codes = np.where(known, function + calls, codes)
    used, which = np.unique(codes, return_inverse=True)
    rows = _first_rows(facts)
    names = [
        trace.schema.calls[c].name if c < calls else facts.kernels.name(rows[c - calls]) for c in used[:MOST_NAMES]
    ]
    more = ("others",) if len(used) > MOST_NAMES else ()
    return np.minimum(which.reshape(-1), MOST_NAMES), (*names, *more)


def _first_rows(facts: Facts) -> dict[int, int]:
    """A kernel object for each function."""
    rows = np.unique(facts.launches.kernel_row)
    rows = rows[rows >= 0]
    return dict(zip(facts.kernels.functions(rows).tolist(), rows.tolist(), strict=True))


# ---- where and when ----


def _queues(facts: Facts, positions: I64) -> tuple[I64, tuple[str, ...]]:
    """The line of each call's queue, the last one for calls that name none, and the names of the lines."""
    trace = facts.trace
    named = has_field(trace, "queue", positions)
    some = positions[named]
    queues = Queues(trace, facts.objects, field_of(trace, "queue", some), some)
    line = np.full(len(positions), len(queues), np.int64)
    line[named] = queues.number
    place, kept = _lanes(line)
    labels = [queues.label(n) if 0 <= n < len(queues) else "no queue" if n >= 0 else "other queues" for n in kept]
    return place, tuple(labels)


def _lanes(numbers: I64) -> tuple[I64, list[int]]:
    """Lines in order of first use. Those of the least used beyond MOST_LANES are one line, -1."""
    used, first, which, count = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
    chosen = np.argsort(-count, kind="stable")[:MOST_LANES]
    chosen = chosen[np.argsort(first[chosen], kind="stable")]
    place = np.full(len(used), len(chosen), np.int64)
    place[chosen] = np.arange(len(chosen))
    rest = [-1] if len(used) > len(chosen) else []
    return place[which.reshape(-1)], [*used[chosen].tolist(), *rest]


def _times(trace: Trace, rows: _Rows) -> tuple[float, I64, I64]:
    """The unit, the beginnings and the lengths in it."""
    ns: Any = 1e9 / trace.ticks_per_second
    start = trace.column("begin")[0]
    begin = (rows.begin - start).astype(np.float64) * ns
    end = np.maximum((rows.end - start).astype(np.int64).astype(np.float64) * ns, begin)
    length = float(end.max())
    unit = 1.0 if length < SHORT_NS else max(ROUGH_NS, length / 0xFFFF_FFF0)
    first = np.floor(begin / unit).astype(np.int64)
    return unit, first, np.ceil(end / unit).astype(np.int64) - first
