"""Calls that had not returned, and work that was queued and is not known to be done."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.facts import CallInfo, Facts
from gpudx.facts.order.waits import DEFAULT_QUEUES

I64 = NDArray[np.int64]
FATAL = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP")
LAST_WAITS = 64  # waits for events that are looked into, from the end


def died_unheard(facts: Facts, run: Run) -> bool:
    """Did the process die of a fault that our handler was not told of? The thread is not known then.

    The program or the driver had its own handler (LLVM has one for abort()), or no stack was left for ours.
    """
    killed = run.outcome.kind == "signal" and run.outcome.signal in FATAL
    return killed and facts.trace.last_words is None and not facts.trace.ended


def pending(facts: Facts, queue: int, before: int) -> I64:
    """Commands in a queue that no completed wait covers, oldest first. They may be done all the same."""
    commands = _of_queue(facts, queue, ("launch", "copy", "fill", "map", "unmap", "native_kernel", "migrate"))
    return commands[(commands > _known_done(facts, queue, before)) & (commands < before)]


def open_launches(facts: Facts, wait: int) -> list[int]:
    """Launches that may have been running during a wait for a context, or for the queue that it names."""
    launches = facts.launches
    ran = np.flatnonzero((launches.status == 0) & launches.done & ~launches.captured)
    queue = facts.trace.record(wait).get("queue")
    if queue is not None and queue not in DEFAULT_QUEUES:  # the default queues wait for others too
        ran = ran[launches.queue[ran] == np.uint64(queue)]
    ran = ran[facts.order.open(launches.position[ran], launches.queue[ran], wait)]
    return [int(p) for p in launches.position[ran]]


def may_have_run(facts: Facts, since: int, before: int) -> list[int]:
    """Launches that may have run between two positions: made in between, or open at the first. Oldest first."""
    launches = facts.launches
    ran = np.flatnonzero((launches.status == 0) & ~launches.captured & (launches.position < before))
    position = launches.position[ran]
    late, early = position >= since, position < since
    by_address = ran[early & launches.by_address[ran]]
    open_ = launches.position[
        by_address[facts.order.open(launches.position[by_address], launches.queue[by_address], since)]
    ]
    queued = [pending(facts, int(q), since) for q in np.unique(launches.queue[ran[early & ~launches.by_address[ran]]])]
    known = position[np.isin(position, np.concatenate([open_, *queued]))]
    return [int(p) for p in np.union1d(position[late], known)]


def _of_queue(facts: Facts, queue: int, does: tuple[str, ...]) -> I64:
    """Positions of accepted commands in a queue."""
    trace = facts.trace
    positions = trace.select(tuple(c for c in trace.schema.calls if c.does in does and c.word("queue") == 0))
    positions = positions[trace.words(positions, 0) == queue]
    return positions[trace.column("status", positions) == 0]


def _known_done(facts: Facts, queue: int, before: int) -> int:
    """The last position up to which the queue's commands are known to be done (queues work in order)."""
    trace = facts.trace
    waits = _of_queue(facts, queue, ("wait",))
    waits = waits[trace.column("end", waits) != 0]
    blocking = _blocking(facts, queue)
    done = np.concatenate([waits, blocking, _awaited(facts, queue, before)])
    done = done[done < before]
    return int(done.max()) if len(done) else -1


def _blocking(facts: Facts, queue: int) -> I64:
    """Copies and maps that returned only when they were done."""
    trace, found = facts.trace, [np.zeros(0, np.int64)]
    for info in trace.calls_made:
        if info.word("blocking") is not None and info.word("queue") == 0:
            positions = trace.select(info)
            mine = (trace.words(positions, 0) == queue) & (trace.field(info, "blocking", positions) != 0)
            positions = positions[mine]
            good = (trace.column("end", positions) != 0) & (trace.column("status", positions) == 0)
            found.append(positions[good])
    return np.concatenate(found)


def _awaited(facts: Facts, queue: int, before: int) -> I64:
    """Commands of the queue whose events were waited for."""
    trace, found = facts.trace, []
    waits = trace.select(trace.schema.doing("wait"))
    good = (trace.column("end", waits) != 0) & (trace.column("status", waits) == 0) & (waits < before)
    for position in map(int, waits[good][-LAST_WAITS:]):
        for event in events_of(facts, position):
            maker = maker_of(facts, event, position)
            if maker is not None and trace.record(maker).get("queue") == queue:
                found.append(maker)
    return np.array(found, np.int64)


def events_of(facts: Facts, position: int) -> list[int]:
    """The events that a call waits for."""
    return [int(e) for e in np.frombuffer(facts.trace.array(position, "events"), "<u8")]


def maker_of(facts: Facts, event: int, before: int) -> int | None:
    """The call that an event came from: the command it stands for, or the one that made it for the program."""
    trace, found = facts.trace, -1
    for info in trace.calls_made:
        for name in _gives_event(info):
            positions = trace.select(info)
            hits = positions[(trace.field(info, name, positions) == event) & (positions < before)]
            found = max(found, int(hits[-1]) if len(hits) else -1)
    return found if found >= 0 else None


def _gives_event(info: CallInfo) -> list[str]:
    created = info.does == "create" and info.object == "event"
    queued = info.word("queue") == 0 and info.does not in ("query", "wait")
    return [
        n
        for n, kind in info.fields
        if kind == "handle:event" and ((n == "result" and created) or (n == "event" and queued))
    ]


def all_pending(facts: Facts) -> I64:
    """Commands of all queues that no completed wait covers, oldest first."""
    rows = facts.objects.rows_of("queue")
    found = [pending(facts, int(q), len(facts.trace)) for q in np.unique(facts.objects.table["handle"][rows])]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
