"""A queue waited for an event that had been recorded again elsewhere, so it did not wait for the intended work.

An event means the last place where it was recorded, and a wait uses that place at the time of the call (CUDA driver API
reference, cuStreamWaitEvent and cuEventRecord). If an event is recorded after the producer's work and then, before the consumer
waits, in another stream, the wait no longer covers the producer's work.

Example:

    produce<<<grid, block, 0, first>>>(data);
    cudaEventRecord(done, first);
    cudaEventRecord(done, other);                   // `done` now stands for work in `other`
    cudaStreamWaitEvent(consumer, done);
    use<<<grid, block, 0, consumer>>>(data);        // may run before or during `produce`

Fix it with a separate event for each thing that is waited for, or by waiting before the event is recorded again. Recording an
event again is normal, especially in loops. It is reported only if it leaves two uses of the same memory unordered: as an error
if these certainly overlap, else as a warning (see unordered-access, which names the two uses).
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
from gpudx.facts.once import once
from gpudx.facts.operations import KINDS, field_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import UNORDERED

ID = "wait-for-replaced-event"
CAUSE = Cause(
    id=ID,
    title="A queue waited for an event that had been recorded again elsewhere",
    refutes_if="The data is still wrong with a separate event for each of the two records.",
    fix=("Use a separate event for each thing that is waited for, or wait before it is recorded again.",),
    predicts=(("recorded", "between the intended record and the wait, the event was recorded in another queue"),),
    kind=UNORDERED,
)
I64 = NDArray[np.int64]
MARKER, WAIT = KINDS.index("marker"), KINDS.index("queue_wait")


@dataclass(frozen=True)
class _Replaced:
    """Rows of Happens.ops: the record that was meant, the one that took its place, and the wait; the event's row."""

    meant: int
    instead: int
    wait: int
    event: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per event and wait."""
    told: set[tuple[int, int]] = set()
    for met in meetings(facts):
        found = _replaced(facts, met)
        if found is not None and (found.event, found.wait) not in told and len(told) < MOST:
            told.add((found.event, found.wait))
            yield _finding(facts, met, found)


@once
def _events(facts: Facts) -> tuple[I64, I64]:
    """Operations that record events or wait for one, and the event (a row of Objects) of each."""
    ops = facts.happens.ops
    rows = np.flatnonzero(np.isin(ops["kind"], (MARKER, WAIT)))
    positions = ops["position"][rows]
    events = facts.objects.at(field_of(facts.trace, "event", positions), positions)
    return rows[events >= 0], events[events >= 0]


def _replaced(facts: Facts, met: Meeting) -> _Replaced | None:
    """The wait in the second's queue, before it, for an event that had been recorded behind the first, and then elsewhere."""
    ops, (rows, events) = facts.happens.ops, _events(facts)
    kind, queue = ops["kind"][rows], ops["queue"][rows]
    behind = (kind == MARKER) & (queue == ops["queue"][met.first]) & (rows > met.first)
    waits = (kind == WAIT) & (queue == ops["queue"][met.second]) & (rows < met.second) & (rows > met.first)
    for wait in np.flatnonzero(waits)[::-1]:
        mine = (events == events[wait]) & (rows < rows[wait]) & (kind == MARKER)
        meant, last = np.flatnonzero(mine & behind), np.flatnonzero(mine)
        if len(meant) and last[-1] > meant[-1]:
            return _Replaced(int(rows[meant[-1]]), int(rows[last[-1]]), int(rows[wait]), int(events[wait]))
    return None


def _finding(facts: Facts, met: Meeting, found: _Replaced) -> Finding:
    ops, queues = facts.happens.ops, facts.happens.queues
    positions = [int(ops["position"][row]) for row in (found.wait, found.meant, found.instead)]
    wait, meant, instead = sites_of(facts, positions)
    label = facts.objects.label(found.event)
    where = [queues.label(int(ops["queue"][row])) for row in (found.meant, found.instead)]
    return Finding(
        id=ID,
        severity="error" if met.certain else "warning",
        message=(
            f"{wait.call} (call {wait.number}) did not wait for {where[0]}, because {label}, recorded there by call "
            f"{meant.number}, had been recorded again in {where[1]} by call {instead.number}, so nothing orders "
            f"{met.told(facts)}: use an event for each."
        ),
        evidence=(
            Evidence(f"{label} was recorded in {where[0]}, after the first of them", (meant.number,)),
            Evidence(f"it was recorded again in {where[1]}, before the wait", (instead.number, wait.number)),
            Evidence("nothing else orders the two", tuple(site.number for site in met.sites(facts))),
        ),
        site=wait,
        others=(meant, instead, *met.sites(facts)),
        allocation=allocation_of(facts, met.memory),
        causes=(ID,),
        facts=(("call", wait.call), ("record", instead.call)),
        pair=met.pair(facts),
    )
