"""Why one operation comes after another: the links between them, for a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.facts.operations import KINDS, Operations
from gpudx.facts.order.clocks import Clocks
from gpudx.facts.order.edges import Edges
from gpudx.facts.queues import DEFAULT

MOST_LINKS = 64


@dataclass(frozen=True)
class Link:
    """`by` says what makes the call at `second` come after that at `first` (positions).

    queue    both are in one queue, which keeps their order
    event    the second waits for an event that stands for the first
    waited   the host's call `second` returned when `first` was complete
    host     the host asked for `second` after its call `first` had returned
    default  one of them is in the default queue, which synchronises with the other's
    barrier  a barrier or mark in the queue
    unknown  it cannot be seen that nothing orders them
    """

    by: str
    first: int
    second: int


class Chains:
    """Finds the links by going back from the second operation."""

    def __init__(self, operations: Operations, edges: Edges, clocks: Clocks) -> None:
        self._table, self._queues = operations.table, operations.queues
        self._edges, self._clocks = edges, clocks

    def between(self, first: int, second: int) -> tuple[Link, ...]:
        """From the first operation to the second; nothing where they are not ordered."""
        links: list[Link] = []
        at = second
        while len(links) < MOST_LINKS and at != first:
            if not self._ordered(first, at):
                return ()
            if self._clocks.lane[first] == self._clocks.lane[at]:
                return (self._link("queue", first, at), *links)
            begin = self._first_after(first, at)
            if begin != at:
                links.insert(0, self._link("queue", begin, at))
            found, at = self._source(first, begin)
            links[:0] = found
        return tuple(links)

    def _ordered(self, first: int, second: int) -> bool:
        return bool(self._clocks.ordered(np.array([first]), np.array([second]))[0])

    def _link(self, by: str, first: int, second: int) -> Link:
        return Link(by, int(self._table["position"][first]), int(self._table["position"][second]))

    def _first_after(self, first: int, at: int) -> int:
        """The first operation of a lane that comes after another: what it waited for brought the order."""
        lane = self._clocks.lane
        if lane[at] < 0 or lane[first] < 0:
            return at
        rows = np.flatnonzero((lane == lane[at]) & (self._clocks.index <= self._clocks.index[at]))
        return int(rows[np.argmax(self._clocks.ordered(np.full(len(rows), first), rows))])

    def _source(self, first: int, at: int) -> tuple[list[Link], int]:
        """The links that reach an operation, and the operation to go on from."""
        owner, target = self._edges.waits
        for other in target[(owner == at) & (target >= 0)].tolist():
            if other == first or self._ordered(first, other):
                return [self._link("event", other, at)], other
        host = self._host(first, at)
        if host >= 0:
            second = int(self._table["position"][at])
            return [Link("waited", int(self._table["position"][first]), host), Link("host", host, second)], first
        return [self._link(self._inside(first, at), first, at)], first

    def _host(self, first: int, at: int) -> int:
        """The position of the host's wait that first knew of an operation's end, -1 if none did in time."""
        waits = np.arange(self._clocks.before(at) + 1)
        known = self._clocks.heard(np.full(len(waits), first), waits)
        found = self._clocks.lane[first] >= 0 and known.any()
        return int(self._clocks.waits[int(np.argmax(known)) - 1]) if found else -1

    def _inside(self, first: int, at: int) -> str:
        queues = [int(self._table["queue"][row]) for row in (first, at)]
        if self._edges.unknown[at] or min(self._clocks.lane[first], self._clocks.lane[at]) < 0:
            return "unknown"
        if queues[0] == queues[1]:
            return "barrier"
        default = any(int(self._queues.kind[q]) == DEFAULT for q in queues) or bool(self._queues.grouped[queues].all())
        return "default" if default and KINDS[int(self._table["kind"][at])] != "queue_wait" else "unknown"
