"""Vector clocks: how much of every queue is complete before an operation begins.

Questions are answered from the clock of the later operation. The clocks are there block by block (`blocks`), so many
questions are asked best at once: they are grouped, and each block is walked through at most once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.operations import Operations
from gpudx.facts.order.blocks import Blocks
from gpudx.facts.order.edges import Edges
from gpudx.facts.order.plan import derive_plan
from gpudx.facts.order.walk import Walk
from gpudx.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]


class Clocks:
    """Questions about operations, by their rows in Operations."""

    def __init__(self, trace: Trace, operations: Operations, edges: Edges) -> None:
        self._plan = derive_plan(trace, operations, edges)
        self._walk = Walk(operations, edges, self._plan)
        self._blocks = Blocks(self._walk)

    @property
    def rank(self) -> I32:
        """The place of each operation in the order in which they can have begun."""
        return self._plan.rank

    @property
    def waits(self) -> I64:
        """Positions of the host's waits, by time."""
        return self._plan.host.position

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """Ranks from - to of operations whose clocks are at hand together."""
        return list(pairwise(self._walk.cuts.places.tolist()))

    # ---- lanes ----

    @cached_property
    def _lane(self) -> I32:
        """By place. Lanes of out-of-order queues are found by walking, all others are known before."""
        if self._walk.free:
            self._blocks.reach(len(self._walk.cuts) - 1)
        if self._plan.reached == len(self._plan):
            return self._walk.lane
        return np.where(np.arange(len(self._plan)) < self._plan.reached, self._walk.lane, np.int32(-1))

    @cached_property
    def lane(self) -> I32:
        """By row: where it stands; -1: no order is known of it."""
        return self._lane if self.rank is self._plan.rows else self._lane[self.rank]

    @property
    def index(self) -> I32:
        """How many operations of its lane come before each."""
        return self._walk.index if self.rank is self._plan.rows else self._walk.index[self.rank]

    # ---- questions ----

    def ordered(self, first: I64, second: I64) -> Bool:
        """Is each first operation complete before the second begins?"""
        one, two = self.rank[first], self.rank[second]
        lane, other = self._lane[one], self._lane[two]
        answer = (lane < 0) | (other < 0)
        apart = ~answer & (lane != other)
        answer |= ~apart & (self._walk.index[one] < self._walk.index[two])
        for ask, question in ((apart & (one < two), self._forwards), (apart & (one > two), self._backwards)):
            at = np.flatnonzero(ask)
            answer[at] = question(one[at], two[at])
        return answer

    def _forwards(self, first: I32, second: I32) -> Bool:
        """Places of different lanes, the second later."""
        answer, lane, epoch = np.zeros(len(first), bool), self._walk.lane, self._plan.epoch
        for number, at in _grouped(self._walk.cuts.block(self._walk.cuts.places, second)):
            one, two = first[at], second[at]
            answer[at] = self._blocks.at(number).entries(epoch[two], lane[two], lane[one]) > self._walk.index[one]
        return answer

    def _backwards(self, first: I32, second: I32) -> Bool:
        """Places of different lanes, the second earlier: only one that waits for something unknown may come after the
        first, since no clock knows of more operations of a lane than it had been given."""
        wild = self._walk.wild
        if wild is None or not len(first):
            return np.zeros(len(first), bool)
        self._blocks.reach(int(self._walk.cuts.block(self._walk.cuts.places, second).max()))
        return wild.holds(self._plan.epoch[second], self._walk.lane[first])

    def known(self, first: I64, times: I64) -> Bool:
        """Did the host know at these times that the operations were complete?"""
        return self.heard(first, np.searchsorted(self._plan.host.time, times, side="right"))

    def before(self, row: int) -> int:
        """How many waits of the host were over when an operation can have begun."""
        return int(np.searchsorted(self._plan.host.before, self.rank[row], side="right"))

    def heard(self, first: I64, waits: I64) -> Bool:
        """Did the host know after so many of its waits that the operations were complete?"""
        place = self.rank[first]
        lane = self._lane[place]
        answer = lane < 0
        asked = np.flatnonzero(~answer & (waits > 0))
        for number, at in _grouped(self._walk.cuts.block(self._walk.cuts.waits, waits[asked] - 1)):
            block, at = self._blocks.at(number), asked[at]
            knew = block.hosts[waits[at] - 1 - block.first_wait, lane[at]]
            answer[at] = knew > self._walk.index[place[at]]
        return answer


def _grouped(blocks: I64) -> Iterator[tuple[int, I64]]:
    """(block, which of the questions are about it), in the order of the blocks."""
    if not len(blocks):
        return
    if blocks.min() == blocks.max():
        yield int(blocks[0]), np.arange(len(blocks))
        return
    order = np.argsort(blocks, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(blocks[order]) > 0))
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
        yield int(blocks[order[begin]]), order[begin:end]
