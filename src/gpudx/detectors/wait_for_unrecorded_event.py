"""A wait was made for an event that had not been recorded, so it waited for nothing.

An event that was never recorded counts as complete: a stream that waits for it continues at once, and so does the host.
Recording it afterwards does not help, because a wait means the last record before it (CUDA driver API reference,
cuStreamWaitEvent: "a functional no-op"; cuEventSynchronize). The order that the program relies on does not exist.

Example:

    cudaStreamWaitEvent(consumer, ready);           // first the wait,
    cudaEventRecord(ready, producer);               // then the record: the consumer has waited for nothing
    use<<<grid, block, 0, consumer>>>(data);

Fix it by recording the event, after the intended work, before the call that waits for it. Between threads, the waiting thread
has to wait until the other one has recorded it.

It is an error if the work after the wait and work of another queue certainly access the same bytes, one of them writes, and
nothing else orders them; a warning if that depends on the kernel (see unordered-access). In loops the first round often waits for
events that are recorded at its end: this is reported only if it leads to such a conflict. An event that was never recorded at
all is a note. Events that other processes or graphs may record are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._meetings import Meeting, meetings
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.operations import done, field_of
from gpudx.facts.order.edges import NOT_MADE
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import UNORDERED

ID = "wait-for-unrecorded-event"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="A wait was made for an event that had not been recorded",
    refutes_if="The data is still wrong with the event recorded before the wait.",
    fix=("Record the event, after the intended work, before the call that waits for it.",),
    predicts=(("recorded", "no record of the event precedes the wait, and the work on both sides shares memory"),),
    kind=UNORDERED,
)
I64 = NDArray[np.int64]
PLACE = 40  # bits of a position
ORDINARY = ("release", "marker", "wait", "poll", "queue_wait", "query")  # what a program of its own does to events


@dataclass(frozen=True)
class _Wait:
    """Waits for one event that nothing had recorded; `recorded` is the first record after the first of them, or -1."""

    event: int  # a row of Objects
    position: int
    count: int
    recorded: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per event whose wait left something without order; one note per place that waits for what never came."""
    told, noted, callers = 0, set(), facts.trace.column("caller")
    for wait in _empty_waits(facts):
        meeting, place = _meeting(facts, wait), int(callers[wait.position])
        if meeting is None and (wait.recorded >= 0 or place in noted):
            continue
        if meeting is None:
            noted.add(place)
        told += 1
        if told <= MOST:
            yield _finding(facts, wait, meeting)


# ---- waits for nothing ----


def _empty_waits(facts: Facts) -> list[_Wait]:
    """By event, in the order of their first waits."""
    positions, events = _with_events(facts, ("queue_wait", "wait"))
    if not len(positions):
        return []
    empty = facts.happens.edges.resolve(events, positions) == NOT_MADE
    positions, rows = positions[empty], facts.objects.at(events[empty], positions[empty])
    keep = (rows >= 0) & ~np.isin(rows, _elsewhere(facts))
    lives, first, count = np.unique(rows[keep], return_index=True, return_counts=True)
    at = positions[keep][first]
    found = zip(lives.tolist(), at.tolist(), count.tolist(), _recorded(facts, lives, at).tolist(), strict=True)
    return sorted((_Wait(*one) for one in found), key=lambda wait: wait.position)


def _with_events(facts: Facts, does: tuple[str, ...]) -> tuple[I64, NDArray[np.uint64]]:
    """Calls that did one of these things, and the event that each was given."""
    trace = facts.trace
    calls = [c for verb in does for c in trace.schema.doing(verb) if dict(c.fields).get("event") == "handle:event"]
    positions = done(trace, trace.select(tuple(calls)))
    events = field_of(trace, "event", positions)
    return positions[events != 0], events[events != 0]


def _elsewhere(facts: Facts) -> I64:
    """Events that were given to other calls: shared with a process, or put into a graph. They may be recorded there."""
    others = {c.does for c in facts.trace.schema.calls} - set(ORDINARY)
    positions, events = _with_events(facts, tuple(others))
    return facts.objects.at(events, positions)


def _recorded(facts: Facts, rows: I64, after: I64) -> I64:
    """The first record of each event after a position, -1 if none."""
    positions, events = _with_events(facts, ("marker",))
    keys = np.append(np.sort((facts.objects.at(events, positions) << PLACE) | positions), np.iinfo(np.int64).max)
    found = keys[np.searchsorted(keys, (rows << PLACE) | after)]
    return np.where(found >> PLACE == rows, found & ((1 << PLACE) - 1), -1)


# ---- what came of it ----


def _meeting(facts: Facts, wait: _Wait) -> Meeting | None:
    """Two uses of one memory that the wait was to keep apart, and that nothing does."""
    queue, position = facts.happens.ops["queue"], facts.happens.ops["position"]
    waiting, recording = _queue(facts, wait.position), _queue(facts, wait.recorded)
    until = wait.position if wait.recorded < 0 else wait.recorded
    for met in meetings(facts) if waiting >= 0 else ():
        for other, mine in ((met.first, met.second), (met.second, met.first)):
            after = queue[mine] == waiting and position[mine] > wait.position
            before = queue[other] == recording if recording >= 0 else queue[other] != waiting
            if after and before and position[other] < until:
                return met
    return None


def _queue(facts: Facts, position: int) -> int:
    """The number of the queue that a wait or record is in, -1 for the host's waits."""
    row = int(facts.happens.op_at(np.array([position]))[0])
    return int(facts.happens.ops["queue"][row]) if row >= 0 else -1


# ---- words ----


def _finding(facts: Facts, wait: _Wait, meeting: Meeting | None) -> Finding:
    label = facts.objects.label(wait.event)
    site, *record = sites_of(facts, [wait.position, *([wait.recorded] if wait.recorded >= 0 else [])])
    when = f"was recorded only afterwards (call {record[0].number})" if record else "was never recorded"
    said = f", so nothing orders {meeting.told(facts)}: record it before the wait is made" if meeting else ""
    return Finding(
        id=ID,
        severity="info" if meeting is None else "error" if meeting.certain else "warning",
        message=f"{site.call} (call {site.number}) waited for nothing, because {label} {when}{said}.",
        evidence=(
            Evidence(
                f"no record of {label} came before the wait, and all calls since it was made are kept", (site.number,)
            ),
            *(Evidence(f"{s.call} recorded it for the first time", (s.number,)) for s in record),
            *_what_it_did(facts, meeting),
        ),
        site=site,
        others=tuple(record),
        count=wait.count,
        allocation=allocation_of(facts, meeting.memory) if meeting else None,
        causes=(ID,) if meeting else (),
        facts=(("call", site.call), ("recorded", str(bool(record)))),
        pair=meeting.pair(facts) if meeting else None,
    )


def _what_it_did(facts: Facts, meeting: Meeting | None) -> Iterator[Evidence]:
    if meeting is not None:
        calls = tuple(site.number for site in meeting.sites(facts))
        yield Evidence(
            f"nothing orders them, and one {'writes' if meeting.certain else 'may write'} what both use", calls
        )
        yield Evidence(f"to order them: {facts.happens.missing_edge(meeting.first, meeting.second).line}")
