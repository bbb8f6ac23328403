"""How far the device had come in each stream when the record ends, from the crumbs behind calls (native/core/crumbs.h).

Work is done where a crumb behind it, or behind later work of its stream, was written. It had not begun where an earlier crumb of
its stream was not written. Everything else may have been running: the work from the last crumb that was written to the first one
that was not. Where crumbs were skipped there are several calls in between.

Streams run in order, but threads may fill one stream at the same time. A call of another thread counts as earlier only if it had
returned before the other began.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.objects import Objects
from gpudx.trace import Trace
from gpudx.trace.crumbs import NONE, CrumbRow, read_crumbs

I64 = NDArray[np.int64]
WORK = ("launch", "launch_graph", "copy", "fill", "map", "unmap", "native_kernel", "migrate")
OWN_STREAM = 2  # the handle of a thread's own default stream, in CUDA and in HIP


class State(IntEnum):
    UNKNOWN = 0  # no crumb of its stream says anything
    DONE = 1
    RUNNING = 2  # it may have been running
    WAITING = 3  # it had not begun


@dataclass(frozen=True)
class Front:
    """A stream that had not come to its end: what may have been running, oldest first, and what waited behind it."""

    context: int
    queue: int
    tid: int
    running: tuple[int, ...]  # positions
    waiting: tuple[int, ...]
    skipped: bool  # some of `running` have no crumb of their own
    certain: bool = True  # a crumb behind `running` was not reached; else it may all be done, without a crumb to say so


class Crumbs:
    """The state of work by its position in the trace."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects

    @cached_property
    def rows(self) -> tuple[CrumbRow, ...]:
        """The streams about which something is known."""
        return tuple(row for row in read_crumbs(self._trace) if row.known)

    @property
    def complete(self) -> bool:
        """Is the work at which each stream stood still in the record?"""
        return all(row.next != NONE or not row.behind or row.unordered for row in self.rows)

    @cached_property
    def why_not(self) -> tuple[str, ...]:
        """Why some context or stream has no crumbs."""
        texts = [self._trace.text(int(p)) for p in self._trace.named("note_crumbs")]
        return tuple(dict.fromkeys(text for text in texts if text))

    @cached_property
    def work(self) -> I64:
        """Positions of all work that was put into streams and not captured."""
        trace = self._trace
        calls = tuple(c for c in trace.schema.calls if c.does in WORK and c.word("queue") is not None)
        found = trace.select(calls)
        accepted = (trace.column("status", found) == 0) & (trace.column("end", found) != 0)
        captured = trace.column("flags", found) & trace.schema.flags.get("captured", 0)
        return found[accepted & (captured == 0)]

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """The State of each call of `work`."""
        answer = np.full(len(self.work), State.UNKNOWN, np.int8)
        for row in self.rows:
            mine = self._of(row)
            if row.unordered:
                self._any_order(row, mine, answer)
                continue
            done, waiting = self._done(row, mine), self._waiting(row, mine)
            fresh = answer[mine]
            fresh[(fresh == State.UNKNOWN)] = State.RUNNING
            fresh[waiting] = State.WAITING
            fresh[done] = State.DONE
            answer[mine] = np.where(answer[mine] == State.DONE, State.DONE, fresh)
        return answer

    def _any_order(self, row: CrumbRow, mine: I64, answer: NDArray[np.int8]) -> None:
        """In an unordered queue a crumb speaks only of its own call."""
        flagged = self._trace.column("flags", self.work[mine]) & self._trace.schema.flags.get("crumb", 0)
        pending = np.isin(self.work[mine], row.pending)
        answer[mine[(flagged != 0) & ~pending]] = State.DONE
        answer[mine[pending]] = State.RUNNING

    def at(self, positions: I64) -> NDArray[np.int8]:
        """The State of calls by position; UNKNOWN for calls that are no work."""
        if not len(self.work):
            return np.full(len(positions), State.UNKNOWN, np.int8)
        place = np.minimum(np.searchsorted(self.work, positions), len(self.work) - 1)
        return np.where(self.work[place] == positions, self.state[place], np.int8(State.UNKNOWN))

    @cached_property
    def fronts(self) -> tuple[Front, ...]:
        """The streams that had not come to their end, the one with the oldest running work first."""
        found = []
        for row in self.rows:
            mine = self._of(row)
            running = self.work[mine[self.state[mine] == State.RUNNING]]
            waiting = self.work[mine[self.state[mine] == State.WAITING]]
            if len(running):
                flags = self._trace.column("flags", running) & self._trace.schema.flags.get("crumb", 0)
                skipped = bool((flags == 0).any())
                place = (row.context, row.queue, row.tid, _ints(running), _ints(waiting))
                found.append(Front(*place, skipped, row.unordered or row.next != NONE))
        return tuple(sorted(found, key=lambda front: front.running[0]))

    # ---- one stream ----

    @cached_property
    def _queue(self) -> NDArray[np.uint64]:
        answer = np.zeros(len(self.work), np.uint64)
        calls = self._trace.call[self.work]
        for number in np.unique(calls):
            info = self._trace.schema.calls[int(number)]
            mine = calls == number
            answer[mine] = self._trace.field(info, "queue", self.work[mine])
        return answer

    @cached_property
    def _stream(self) -> I64:
        """The stream object of each call: a handle may be used again for another stream."""
        return self._objects.at(self._queue, self.work)

    def _of(self, row: CrumbRow) -> I64:
        """Indices in `work` of the calls of a stream."""
        mine = (self._queue == np.uint64(row.queue)) & (self._trace.context[self.work] == row.context)
        if row.queue == OWN_STREAM:
            mine &= self._trace.column("tid", self.work) == row.tid
        elif row.queue > OWN_STREAM:
            anchor = next((p for p in (row.next, row.reached, *row.pending[:1]) if p != NONE), NONE)
            if anchor == NONE and row.unordered:
                return np.flatnonzero(mine)
            stream = (
                self._objects.at(np.array([row.queue], np.uint64), np.array([anchor], np.int64))
                if anchor >= 0
                else [-1]
            )
            mine &= self._stream == stream[0]
        return np.flatnonzero(mine)

    def _done(self, row: CrumbRow, mine: I64) -> NDArray[np.bool_]:
        if row.reached == NONE:
            return np.zeros(len(mine), bool)
        position = self.work[mine]
        same = self._trace.lane[position] == self._trace.lane[row.reached]
        begin = self._trace.column("begin", np.array([row.reached]))[0]
        return np.where(same, position <= row.reached, self._trace.column("end", position) <= begin)

    def _waiting(self, row: CrumbRow, mine: I64) -> NDArray[np.bool_]:
        if row.next == NONE:
            return np.zeros(len(mine), bool)
        position = self.work[mine]
        same = self._trace.lane[position] == self._trace.lane[row.next]
        end = self._trace.column("end", np.array([row.next]))[0]
        return np.where(same, position > row.next, (self._trace.column("begin", position) >= end) & (end != 0))


def _ints(positions: I64) -> tuple[int, ...]:
    return tuple(map(int, positions))
