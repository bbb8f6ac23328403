"""Two threads enqueued work on the same memory to one queue at the same time, so their order depends on timing.

Several threads may use a queue, and each call is safe. But the work runs in the order in which the calls happen to be made: if
two threads are not synchronized, one run copies before the kernel and the next run after it.

Example:

    // thread 1                                           // thread 2
    fill<<<grid, block, 0, stream>>>(data);               use<<<grid, block, 0, stream>>>(data, out);

Fix it by ordering the threads (a lock held over both calls of a pair, a queue between the threads), or by giving each thread its own
stream, with events where one needs the other's results.

Reported only if the two calls overlapped in time, which shows that no lock separated them, and if one of them writes, or may
write, what the other uses. Not reported: threads that take turns, a context that several threads use, launches of one kernel by
both threads (they may split a buffer, or run in any order), and arguments of unknown type.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import conflict, surely, uses, work
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import UNORDERED

ID = "queue-driven-by-threads"
CAUSE = Cause(
    id=ID,
    title="Two threads enqueued work on the same memory to one queue at the same time",
    refutes_if="The result still changes from run to run with one thread, or with a lock around both calls.",
    fix=(
        "Synchronize the threads: let the second make its call only after the call of the first has returned.",
        "Give each thread its own queue, with events where one needs the other's results.",
    ),
    predicts=(("recorded", "calls of two threads that enqueue work on the same memory to one queue overlap in time"),),
    kind=UNORDERED,
)
NEXT = 4  # so many later uses of the same memory are compared with each
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per two places of the program; repeats are counted."""
    pairs = _pairs(facts)
    if not len(pairs):
        return
    callers = facts.trace.column("caller")[uses(facts)["position"][pairs]].view(np.int64)
    for part in groups(np.arange(len(pairs)), callers.min(axis=1), callers.max(axis=1)):
        yield _finding(facts, pairs[part[0]], len(part))


def _shared(facts: Facts) -> NDArray[np.bool_]:
    """Which queues several threads gave work to."""
    ops = facts.happens.ops
    low, high = (np.full(len(facts.happens.queues), n, np.int64) for n in (1 << 40, -1))
    np.minimum.at(low, ops["queue"], ops["tid"])
    np.maximum.at(high, ops["queue"], ops["tid"])
    return low < high


def _uses(facts: Facts, shared: NDArray[np.bool_]) -> I64:
    """Uses in such queues, by queue, memory and time."""
    table, queue = uses(facts), np.append(facts.happens.ops["queue"], -1)
    rows = np.flatnonzero((work(facts) >= 0) & ~table["vague"])
    rows = rows[shared[queue[work(facts)[rows]]]]
    return rows[np.lexsort((table["position"][rows], table["object"][rows], queue[work(facts)[rows]]))]


def _pairs(facts: Facts) -> I64:
    """Two uses of one memory in one queue by two threads, whose calls overlapped, one of them writing."""
    shared = _shared(facts)
    if not shared.any():
        return np.zeros((0, 2), np.int64)
    table, rows = uses(facts), _uses(facts, shared)
    ops, position = facts.happens.ops[work(facts)[rows]], table["position"][rows]
    begin, end = facts.trace.column("begin", position), facts.trace.column("end", position)
    found = [np.zeros((0, 2), np.int64)]
    for step in range(1, NEXT + 1):
        same = (ops["queue"][step:] == ops["queue"][:-step]) & (ops["tid"][step:] != ops["tid"][:-step])
        same &= (table["object"][rows[step:]] == table["object"][rows[:-step]]) & (end[:-step] > begin[step:])
        same &= conflict(table[rows[:-step]], table[rows[step:]])
        found.append(np.stack([rows[:-step][same], rows[step:][same]], axis=1))
    pairs = np.concatenate(found)
    return pairs[~_alike(facts, pairs)]


def _alike(facts: Facts, pairs: I64) -> NDArray[np.bool_]:
    """Are both launches of one kernel? Threads that split a buffer make such, and equal ones may come in any order."""
    position = uses(facts)["position"][pairs]
    launches = facts.launches
    if not len(pairs) or not len(launches):
        return np.zeros(len(pairs), bool)
    launch = np.searchsorted(launches.position, position).clip(0, len(launches) - 1)
    functions = facts.kernels.functions(launches.kernel_row[launch.ravel()]).reshape(launch.shape)
    alike: NDArray[np.bool_] = (launches.position[launch] == position).all(axis=1) & (
        functions[:, 0] == functions[:, 1]
    )
    return alike


def _finding(facts: Facts, pair: I64, count: int) -> Finding:
    rows = uses(facts)[pair]
    first, second = sites_of(facts, map(int, rows["position"]))
    names = [f"kernel {s.kernel}" if s.kernel else s.call for s in (first, second)]
    label = facts.objects.label(int(rows["object"][0]))
    queue = facts.happens.queues.label(int(facts.happens.ops["queue"][work(facts)[pair[0]]]))
    writes = "writes" if surely(rows) else "may write"
    calls = (first.number, second.number)
    return Finding(
        id=ID,
        severity="warning",
        message=(
            f"Threads {first.tid} and {second.tid} enqueued work on {label} to {queue} at the same time, {names[0]} (call "
            f"{first.number}) and {names[1]} (call {second.number}): which of them runs first depends on timing, so synchronize "
            "the threads."
        ),
        evidence=(
            Evidence(f"both calls were being made at the same time: {first.call} had not returned", calls),
            Evidence(f"both were passed {label}, and one of them {writes} it", calls),
        ),
        site=second,
        others=(first,),
        count=count,
        allocation=allocation_of(facts, int(rows["object"][0])),
        causes=(ID,),
        facts=tuple((str(n), name) for n, name in enumerate(sorted(names))),
    )
