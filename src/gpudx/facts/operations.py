"""Everything that was put into queues, in order of recording.

An operation is one call that gives a queue work, or gives it something to wait for. Calls that failed, that had not
returned when the record ends, and that went into a graph are no operations.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.facts.columns import Columns
from gpudx.facts.objects import Objects
from gpudx.facts.queues import PER_THREAD, Queues
from gpudx.trace import CallInfo, Trace
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
KINDS = (
    "launch",
    "launch_graph",
    "copy",
    "fill",
    "map",
    "unmap",
    "marker",
    "barrier",
    "native_kernel",
    "migrate",
    "acquire",
    "hand_back",
    "queue_wait",
    "free_later",
    "callback",  # of those that a queue calls when it comes to them
    "create",  # memory that comes in the order of a queue
    "other",  # waits and signals that only the API knows
)


def is_operation(info: CallInfo) -> bool:
    """Does a call put something into a queue?"""
    if info.does == "marker":
        return True  # also those that are put into all queues of a context
    if info.word("queue") is None or info.does not in KINDS:
        return False
    if info.does == "create":
        return info.object == "memory"
    rules = backend_module(info.api, "order")
    return info.does != "other" or (rules is not None and info.name in (*rules.WAIT_UNSEEN, *rules.TELL_UNSEEN))


class Operations:
    """The table: one row per operation, in order of position.

    kind     a place in KINDS
    queue    a number of `queues`
    index    how many operations the queue was given before
    event    the event that stands for the operation's end, 0 if none
    """

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects
        self.calls = tuple(c for c in trace.schema.calls if is_operation(c))
        self._waits = tuple(c for v in ("wait", "poll") for c in trace.schema.doing(v) if c.word("queue") is not None)
        self.positions = done(trace, trace.select(self.calls))
        self.waits = done(trace, trace.select(self._waits))  # of the host, for queues

    def __len__(self) -> int:
        return len(self.positions)

    def field(self, name: str, positions: I64) -> U64:
        """One field of calls of any kind, 0 where a call has none of that name."""
        return field_of(self._trace, name, positions)

    @cached_property
    def queues(self) -> Queues:
        positions = np.concatenate([self.positions, self.waits])
        handles = self.field("queue", positions)
        for name in ("context", "green_context"):  # work for all queues of a context stands in its own queue
            without = np.flatnonzero(~has_field(self._trace, "queue", positions))
            handles[without] |= self.field(name, positions[without])
        return Queues(self._trace, self._objects, handles, positions)

    @cached_property
    def alone(self) -> bool:
        """Is there only one queue, and is it in order? A cheap answer for most programs, before anything else is made."""
        positions, handles = self.positions, self.field("queue", self.positions)
        if len(positions) < 2:
            return True
        several = (handles != handles[0]).any() or handles[0] == PER_THREAD
        contexts = self._trace.context[positions]
        lives = (self._objects.table["handle"] == handles[0]).sum()
        if several or lives > 1 or (contexts != contexts[0]).any():
            return False
        return bool(Queues(self._trace, self._objects, handles[:1], positions[:1]).in_order[0])

    @cached_property
    def waited(self) -> NDArray[np.int32]:
        """The queue of each of `waits`."""
        return self.queues.number[len(self.positions) :]

    @cached_property
    def table(self) -> Columns:
        kinds = np.array([KINDS.index(c.does) if c.does in KINDS else 0 for c in self._trace.schema.calls], np.uint8)
        queue = self.queues.number[: len(self)]
        return Columns(
            len(self),
            {
                "position": self.positions,
                "kind": kinds[self._trace.call[self.positions]],
                "queue": queue,
                "index": places(queue),
                "tid": lambda: self._trace.column("tid", self.positions),
                "context": lambda: self._trace.context[self.positions],
                "event": self._events,
            },
        )

    def _events(self) -> U64:
        events = self.field("event", self.positions)
        events[self.table["kind"] == KINDS.index("queue_wait")] = 0
        return events

    def at(self, positions: I64) -> I64:
        """The rows of the operations at these positions, -1 where there is none."""
        if not len(self.positions):
            return np.full(len(positions), -1, np.int64)
        rows = np.searchsorted(self.positions, positions).clip(0, len(self.positions) - 1)
        return np.where(self.positions[rows] == positions, rows, -1)


def done(trace: Trace, positions: I64) -> I64:
    """Those of the calls that succeeded, and did what they say at once or in a queue."""
    flag = trace.schema.flags.get("captured", 0)
    good = (trace.column("end", positions) != 0) & (trace.column("status", positions) == 0)
    return positions[good & ((trace.column("flags", positions) & flag) == 0)]


def numbered(numbers: NDArray[np.int32]) -> I64:
    """Which come first by number, and then by place. Numbers of 16 bits are sorted several times faster."""
    few = len(numbers) and int(numbers.max()) < 1 << 16
    return np.argsort(numbers.astype(np.uint16) if few else numbers, kind="stable")


def places(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """How often each number stood before."""
    found, count = np.empty(len(numbers), np.int32), np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    for some in slices(len(numbers)):
        order = numbered(numbers[some])
        mine = numbers[some][order]
        found[some.start + order] = np.arange(len(mine)) - np.searchsorted(mine, mine) + count[mine]
        count += np.bincount(mine, minlength=len(count))
    return found


def has_field(trace: Trace, name: str, positions: I64) -> Bool:
    return trace.schema.words_of(name)[trace.call[positions]] >= 0


def field_of(trace: Trace, name: str, positions: I64) -> U64:
    """One field of calls of any kind, 0 where a call has none of that name."""
    words = trace.schema.words_of(name)
    found = np.zeros(len(positions), np.uint64)
    for some in slices(len(positions)):
        mine = words[trace.call[positions[some]]]
        for word in np.unique(mine[mine >= 0]):
            at = some.start + np.flatnonzero(mine == word)
            found[at] = trace.words(positions[at], int(word))
    return found
