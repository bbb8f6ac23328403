"""A wait was made for an event that had not been recorded, so it waited for nothing.

An event that was never recorded counts as complete: a stream that waits for it goes on at once, and so does the host. Recording
it afterwards does not help, since a wait means the last record before it (CUDA driver API reference, cuStreamWaitEvent: "a
functional no-op"; cuEventSynchronize). The order that the program was built on is not there.

Example:

    cudaStreamWaitEvent(consumer, ready);           // first the wait,
    cudaEventRecord(ready, producer);               // then the record: the consumer has waited for nothing
    use<<<grid, block, 0, consumer>>>(data);

Mend it by recording the event, behind the work that is meant, before the call that waits for it is made. Between threads, the
waiting thread has to wait until the other one has recorded.

An error where the work after the wait and work of another queue meet in the same memory, one of them surely writes it, and
nothing else orders them; a warning where only a kernel may write it. In loops the first round often waits for events that are
recorded at its end: this is silent unless it leads to such a meeting. An event that was never recorded at all is a note.
Events that other processes or graphs may record are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._uses import conflict, surely, uses, work
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.edges import NOT_MADE
from gpudx.model import Evidence, Finding, Severity

ID = "wait-for-unrecorded-event"
I64 = NDArray[np.int64]
ORDINARY = ("release", "marker", "wait", "poll", "queue_wait", "query")  # what a program of its own does to events


@dataclass(frozen=True)
class _Wait:
    """Waits for one event that nothing had recorded; `recorded` is the first record after the first of them, or -1."""

    event: int  # a row of Objects
    position: int
    count: int
    recorded: int


@dataclass(frozen=True)
class _Meeting:
    """Rows of the uses of one memory that nothing orders: of another queue's work, and of work after the wait."""

    first: int
    second: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per event."""
    for wait in _empty_waits(facts)[:MOST]:
        meeting = _meeting(facts, wait)
        if meeting or wait.recorded < 0:
            yield _finding(facts, wait, meeting)


# ---- waits for nothing ----


def _empty_waits(facts: Facts) -> list[_Wait]:
    trace = facts.trace
    calls = [c for verb in ("queue_wait", "wait") for c in trace.schema.doing(verb) if c.word("event") is not None]
    positions, events = _with_events(facts, [c.number for c in calls])
    empty = facts.happens.edges.resolve(events, positions) == NOT_MADE if len(positions) else np.zeros(0, bool)
    rows = facts.objects.at(events[empty], positions[empty])
    found = []
    for row in np.setdiff1d(rows, _elsewhere(facts)).tolist():
        mine = positions[empty][rows == row]
        found.append(_Wait(row, int(mine[0]), len(mine), _recorded(facts, row, int(mine[0]))))
    return sorted(found, key=lambda wait: wait.position)


def _with_events(facts: Facts, calls: list[int]) -> tuple[I64, NDArray[np.uint64]]:
    """Successful calls of these kinds that did what they say, and the event that each was given."""
    trace = facts.trace
    found = [(p := trace.select(trace.schema.calls[c]), trace.field(trace.schema.calls[c], "event", p)) for c in calls]
    position = np.concatenate([np.zeros(0, np.int64), *(p for p, _ in found)])
    event = np.concatenate([np.zeros(0, np.uint64), *(e for _, e in found)])
    captured = (trace.column("flags", position) & trace.schema.flags.get("captured", 0)) != 0
    good = (trace.column("status", position) == 0) & ~captured & (event != 0)
    order = np.argsort(position[good], kind="stable")
    return position[good][order], event[good][order]


def _elsewhere(facts: Facts) -> I64:
    """Events that were given to other calls: shared with a process, or put into a graph. They may be recorded there."""
    calls = [c for c in facts.trace.schema.calls if c.does not in ORDINARY and dict(c.fields).get("event") == "handle:event"]
    shared = [c.number for c in calls if c.word("queue") is None]
    positions, events = _with_events(facts, shared)
    return facts.objects.at(events, positions)


def _recorded(facts: Facts, event: int, after: int) -> int:
    calls = [c.number for c in facts.trace.schema.doing("marker") if c.word("event") is not None]
    positions, events = _with_events(facts, calls)
    hits = positions[(facts.objects.at(events, positions) == event) & (positions > after)]
    return int(hits[0]) if len(hits) else -1


# ---- what came of it ----


def _meeting(facts: Facts, wait: _Wait) -> _Meeting | None:
    """The first two uses of one memory that the wait was to keep apart, and that nothing does; sure ones before others."""
    ops, table = facts.happens.ops, uses(facts)
    queue = _queue(facts, wait.position)
    known = np.flatnonzero((work(facts) >= 0) & ~table["vague"])
    numbers = np.append(ops["queue"], -1)[work(facts)]
    after = known[(numbers[known] == queue) & (table["position"][known] > wait.position)]
    until = wait.position if wait.recorded < 0 else wait.recorded
    before = known[(numbers[known] != queue) & (table["position"][known] < until)]
    if wait.recorded >= 0:
        before = before[numbers[before] == _queue(facts, wait.recorded)]
    pairs = [p for p in _pairs(table, before, after) if _loose(facts, work(facts)[list(p)])]
    sure = [p for p in pairs if surely(table[list(p)])]
    return _Meeting(*(sure or pairs)[0]) if pairs else None


def _queue(facts: Facts, position: int) -> int:
    """The number of the queue that a wait or record is in, -1 for the host's waits."""
    row = int(facts.happens.op_at(np.array([position]))[0])
    return int(facts.happens.ops["queue"][row]) if row >= 0 else -1


def _pairs(table: NDArray[np.void], before: I64, after: I64) -> list[tuple[int, int]]:
    """The first use after the wait of each memory, with the last conflicting one of each call before."""
    objects, first = np.unique(table["object"][after], return_index=True)
    found = []
    for obj, second in zip(objects.tolist(), after[first].tolist(), strict=True):
        mine = before[table["object"][before] == obj]
        mine = mine[conflict(table[mine], table[second])]
        found += [(int(row), second) for row in mine[-1:]]
    return found


def _loose(facts: Facts, pair: I64) -> bool:
    one, two = pair[:1], pair[1:]
    return not (facts.happens.ordered(one, two)[0] or facts.happens.ordered(two, one)[0])


# ---- words ----


def _finding(facts: Facts, wait: _Wait, meeting: _Meeting | None) -> Finding:
    label = facts.objects.label(wait.event)
    site, *record = sites_of(facts, [wait.position, *([wait.recorded] if wait.recorded >= 0 else [])])
    when = f"was recorded only afterwards (call {record[0].number})" if record else "was never recorded"
    said, evidence = _told(facts, meeting)
    return Finding(
        id=ID,
        severity=_severity(facts, meeting),
        message=f"{site.call} (call {site.number}) waited for nothing, because {label} {when}{said}.",
        evidence=(
            Evidence(f"no record of {label} came before the wait, and all calls since it was made are kept", (site.number,)),
            *(Evidence(f"{s.call} recorded it for the first time", (s.number,)) for s in record),
            *evidence,
        ),
        site=site,
        others=tuple(record),
        count=wait.count,
        allocation=facts.objects.label(int(uses(facts)["object"][meeting.first])) if meeting else None,
        causes=(ID,) if meeting else (),
        facts=(("call", site.call), ("recorded", str(bool(record)))),
    )


def _severity(facts: Facts, meeting: _Meeting | None) -> Severity:
    if meeting is None:
        return "info"
    return "error" if surely(uses(facts)[[meeting.first, meeting.second]]) else "warning"


def _told(facts: Facts, meeting: _Meeting | None) -> tuple[str, tuple[Evidence, ...]]:
    if meeting is None:
        return "", ()
    rows = uses(facts)[[meeting.first, meeting.second]]
    first, second = sites_of(facts, map(int, rows["position"]))
    names = [f"kernel {s.kernel}" if s.kernel else s.call for s in (first, second)]
    label = facts.objects.label(int(rows["object"][0]))
    said = f", so nothing orders {names[0]} (call {first.number}) and {names[1]} (call {second.number}), which share {label}"
    edge = facts.happens.missing_edge(*map(int, facts.happens.op_at(rows["position"])))
    how = "writes" if surely(rows) else "may write"
    where = Evidence(f"{label} is in use by both, and one of them {how} it", (first.number, second.number))
    return f"{said}: {edge.text}", (where,)
