"""Happens-before: which recorded operation is complete before which other begins, whatever the scheduler does.

The rules are in `edges` (events, the host) and `clocks` (queues, default queues, barriers). All answers lean to one
side: **yes means "ordered, or not known"; no means that nothing recorded orders the two.** A detector may therefore
accuse where the answer is no, and must not conclude anything from a yes.

Host threads: what one thread waited for is taken to be known to every call of any thread that began after that wait
had ended. Locks of the program's own cannot be seen, so nobody is accused for lack of one. Two threads that give work
to one queue do so in the order in which their calls began.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.facts.columns import Columns
from gpudx.facts.contexts import Contexts
from gpudx.facts.memory import Memory
from gpudx.facts.objects import Objects
from gpudx.facts.operations import Operations
from gpudx.facts.order.chains import Chains, Link
from gpudx.facts.order.clocks import Clocks
from gpudx.facts.order.edges import Edges
from gpudx.facts.queues import DEFAULT, Queues
from gpudx.facts.ranges import Ranges
from gpudx.trace import Trace

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class MissingEdge:
    """What would order two operations: an event after the first, waited for in the second's queue before the second."""

    first: int  # positions
    second: int
    first_queue: str
    second_queue: str
    line: str  # the same as a line of code of the API

    @property
    def text(self) -> str:
        return (
            f"record an event in {self.first_queue} after call {self.first + 1}, and let {self.second_queue} wait for it "
            f"before call {self.second + 1}"
        )


class Happens:
    """Questions about operations (rows of `ops`) and calls of the host (positions)."""

    def __init__(self, trace: Trace, objects: Objects, memory: Memory, ranges: Ranges, contexts: Contexts) -> None:
        self._trace, self._objects = trace, objects
        self._operations = Operations(trace, objects)
        self.edges = Edges(trace, objects, memory, ranges, self._operations, contexts)

    @property
    def ops(self) -> Columns:
        """One row per operation, in order of recording: position, kind (a place in operations.KINDS), queue (a number of
        `queues`), index (its place in that queue), tid, context, event (the handle that stands for its end, or 0)."""
        return self._operations.table

    @property
    def queues(self) -> Queues:
        """The queues by number: label(number), in_order, grouped, context, handle, kind."""
        return self._operations.queues

    def op_at(self, positions: I64) -> I64:
        """The rows of the operations at these positions, -1 where there is none."""
        return self._operations.at(np.asarray(positions, np.int64))

    @cached_property
    def _clocks(self) -> Clocks:
        return Clocks(self._trace, self._operations, self.edges)

    @property
    def parallel(self) -> bool:
        """Can any two operations run at the same time at all? Most programs have one queue."""
        return not self._operations.alone

    @property
    def lane(self) -> NDArray[np.int32]:
        """The chain of each operation: those of one lane are ordered. -1: of this one nothing is known."""
        return self._clocks.lane

    @property
    def rank(self) -> NDArray[np.int32]:
        """The place of each operation in the order in which they can have begun."""
        return self._clocks.rank

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """Ranks from - to: questions about second operations of one stretch after the other are answered fastest."""
        return self._clocks.stretches

    def ordered(self, a: I64, b: I64) -> Bool:
        """Is operation a complete before operation b begins, or is that not known? False: nothing orders a before b."""
        a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
        if self.edges.blind or not len(self.ops):
            return np.ones(len(a), bool)
        return self._clocks.ordered(a, b)

    def done_before_host(self, a: I64, positions: I64) -> Bool:
        """Is operation a complete before the host's call at `positions` begins, or is that not known?"""
        a, positions = np.asarray(a, np.int64), np.asarray(positions, np.int64)
        if self.edges.blind or not len(self.ops):
            return np.ones(len(a), bool)
        return self._clocks.known(a, self._trace.column("begin", positions).astype(np.int64))

    def done_after_host(self, a: I64, positions: I64) -> Bool:
        """Is operation a complete when the host's call at `positions` has returned, or is that not known?"""
        a, ends = np.asarray(a, np.int64), self._trace.column("end", np.asarray(positions, np.int64)).astype(np.int64)
        if self.edges.blind or not len(self.ops):
            return np.ones(len(a), bool)
        return self._clocks.known(a, ends) & (ends != 0)

    # ---- words ----

    def why(self, a: int, b: int) -> tuple[Link, ...]:
        """What makes operation b come after operation a, link by link; nothing where they are not ordered."""
        return Chains(self._operations, self.edges, self._clocks).between(a, b)

    def missing_edge(self, a: int, b: int) -> MissingEdge:
        """What would order operation a before operation b."""
        first, second = (int(self.ops["position"][row]) for row in (a, b))
        queues = [self.queues.label(int(self.ops["queue"][row])) for row in (a, b)]
        rules = backend_module(self._trace.info(second).api, "order")
        calls = [f"{self._trace.info(p).name} (call {p + 1})" for p in (first, second)]
        line = rules.edge(calls[0], queues[0], calls[1], queues[1]) if rules else ""
        return MissingEdge(first, second, queues[0], queues[1], line)

    def apart(self, a: int, b: int) -> str | None:
        """Where one of the two is in a default queue, and the other in a queue that does not synchronise with it: that one."""
        numbers = [int(self.ops["queue"][row]) for row in (a, b)]
        kinds = [int(self.queues.kind[n]) == DEFAULT for n in numbers]
        other = numbers[kinds[0]]
        alone = kinds[0] != kinds[1] and not bool(self.queues.grouped[other])
        return self.queues.label(other) if alone else None
