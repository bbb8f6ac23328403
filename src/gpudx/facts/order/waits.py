"""What had surely ended when: the waits that succeeded, and the work that each of them covers.

A wait for a context covers all work of that context; one for a queue that queue; one for an event what its queue had
been given before the event. A wait for the default queue covers the queues that synchronise with it. Work that no
successful wait covers may still have been running.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.contexts import Contexts
from gpudx.facts.objects import Objects
from gpudx.facts.queues import Queues
from gpudx.trace import CallInfo, Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
DEFAULT_QUEUES = (0, 1)
HOST_KIND = 1  # of memory, as a copy is told
COMMANDS = ("copy", "map")
NON_BLOCKING = 1  # flag of a queue that does not synchronize with the default queue


class Order:
    """Successful waits before a position, and what they leave open."""

    def __init__(self, trace: Trace, objects: Objects, contexts: Contexts) -> None:
        self._trace, self._objects, self._contexts = trace, objects, contexts

    def _good(self, info: CallInfo) -> I64:
        positions = self._trace.select(info)
        done = self._trace.column("end", positions) != 0
        return positions[done & (self._trace.column("status", positions) == 0)]

    @cached_property
    def _context_waits(self) -> tuple[I64, I64]:
        """Waits for contexts, their own or the one that they are given (the runtime of CUDA 13), and the numbers of these."""
        waits = self._trace.schema.doing("wait")
        bare = np.concatenate([self._good(c) for c in waits if not c.fields] or [np.zeros(0, np.int64)])
        given, handles = self._pairs([c for c in waits if c.word("context") is not None], "context")
        position = np.concatenate([bare, given])
        number = np.concatenate([self._trace.context[bare], self._contexts.named(handles, given)]).astype(np.int64)
        order = np.argsort(position, kind="stable")
        return position[order], number[order]

    @cached_property
    def _queue_waits(self) -> tuple[I64, U64]:
        """Waits for queues: of their own, polls that said yes, and copies and maps that return when done."""
        schema = self._trace.schema
        calls = [c for c in (*schema.doing("wait"), *schema.doing("poll")) if c.word("queue") is not None]
        calls += [c for c in schema.calls if c.does in COMMANDS and _may_block(c)]
        return self._pairs(calls, "queue")

    def _blocking_copies(self, info: CallInfo, positions: I64) -> I64:
        """Those of a call's copies that return only when they are done: as they ask for it, or from the device to the host. In a queue
        without an order that says nothing of the other commands."""
        if info.word("blocking") is not None:
            positions = positions[self._trace.field(info, "blocking", positions) != 0]
            queues = Queues(self._trace, self._objects, self._trace.field(info, "queue", positions), positions)
            return positions[queues.in_order[queues.number]] if len(positions) else positions
        if info.word("kinds") is None:
            return positions
        kinds = self._trace.field(info, "kinds", positions)
        return positions[(kinds >> np.uint64(8)) & np.uint64(255) == HOST_KIND]

    def _pairs(self, calls: list[CallInfo], field: str) -> tuple[I64, U64]:
        """Positions of successful calls in order of time, and one field of each."""
        good = [self._blocking_copies(c, self._good(c)) if c.does in COMMANDS else self._good(c) for c in calls]
        found = [(p, self._trace.field(c, field, p)) for c, p in zip(calls, good, strict=True)]
        position = np.concatenate([p for p, _ in found] or [np.zeros(0, np.int64)])
        value = np.concatenate([v for _, v in found] or [np.zeros(0, np.uint64)])
        order = np.argsort(position, kind="stable")
        return position[order], value[order]

    @cached_property
    def _event_waits(self) -> tuple[I64, U64]:
        schema = self._trace.schema
        calls = [c for c in (*schema.doing("wait"), *schema.doing("poll")) if c.word("event") is not None]
        return self._pairs(calls, "event")

    @cached_property
    def _markers(self) -> tuple[I64, U64, U64]:
        """Events put into queues: positions, events, queues."""
        calls = [c for c in self._trace.schema.doing("marker") if {"event", "queue"} <= {n for n, _ in c.fields}]
        position, event = self._pairs(calls, "event")
        return position, event, self._pairs(calls, "queue")[1]

    # ---- what is covered ----

    def covered(self, queue: int, context: int, before: int) -> int:
        """The last position up to which the work of a queue had surely ended before `before`; -1 if none."""
        position, number = self._context_waits
        same = position[(position < before) & np.isin(number, (context, 0))]
        known = [int(same[-1])] if len(same) else []
        known += self._by_queue(queue, before)
        known += self._by_event(queue, before)
        return max(known, default=-1)

    def waited_for_all(self, position: int, context: int) -> bool:
        """Did this call wait for all work of a context, whatever the queue?"""
        waits, number = self._context_waits
        return bool(np.isin(number[waits == position], (context, 0)).any())

    def _by_queue(self, queue: int, before: int) -> list[int]:
        position, waited = self._queue_waits
        covers = waited == np.uint64(queue)
        if self._blocking(queue, before):
            covers |= np.isin(waited, DEFAULT_QUEUES)
        hits = position[covers & (position < before)]
        return [int(hits[-1])] if len(hits) else []

    def _by_event(self, queue: int, before: int) -> list[int]:
        """An event that was waited for says that what stood before it in its queue was done."""
        position, waited = self._event_waits
        made, event, queues = self._markers
        mine = queues == np.uint64(queue)
        found = []
        for at, one in zip(position[::-1].tolist(), waited[::-1].tolist(), strict=True):
            if at < before:
                hits = made[mine & (event == np.uint64(one)) & (made < at)]
                last = made[(event == np.uint64(one)) & (made < at)]
                if len(hits) and int(last[-1]) == int(hits[-1]):
                    found.append(int(hits[-1]))
                    break
        return found

    def _blocking(self, queue: int, position: int) -> bool:
        """Does this queue synchronise with the default one?"""
        if queue in DEFAULT_QUEUES:
            return True
        row = int(self._objects.at(np.array([queue], np.uint64), np.array([position], np.int64))[0])
        return row >= 0 and not int(self._objects.table["flags"][row]) & NON_BLOCKING

    def pairs(self, positions: I64, queues: U64) -> list[tuple[int, int]]:
        """The different (queue, context) of some work."""
        contexts = self._trace.context[positions]
        return [(int(q), int(c)) for q in np.unique(queues) for c in np.unique(contexts[queues == q])]

    def open(self, positions: I64, queues: U64, before: int) -> NDArray[np.bool_]:
        """Which of this work may still have been running at `before`? One search per queue and context."""
        contexts = self._trace.context[positions]
        answer = positions < before
        for queue, context in self.pairs(positions, queues):
            mine = (queues == np.uint64(queue)) & (contexts == context)
            answer[mine] &= positions[mine] > self.covered(queue, context, before)
        return answer


def _may_block(info: CallInfo) -> bool:
    """Can a copy or map be one that returns only when it is done? One that can ask for it, and copies from the device to host memory that
    are not queued; a field says which queue they used, and where the call itself does not say the direction, another one does."""
    if info.word("blocking") is not None:
        return info.word("queue") is not None
    to_host = bool(info.host) and not info.writes
    return info.does == "copy" and bool(info.reads) and (to_host or info.word("kinds") is not None) and not is_queued(info)


def is_queued(info: CallInfo) -> bool:
    """Is a copy asked for in a queue, to be done while the host goes on?"""
    return info.name.removesuffix("_v2").endswith("Async")
