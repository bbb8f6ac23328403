"""The walk in blocks: where each begins and ends, and which clocks are needed beyond the block that made them.

A moment is an operation's place or a wait of the host, in order of time; a block is a stretch of moments.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.order.edges import FOR_OPERATION
from gpudx.facts.order.plan import Plan

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
MOMENTS = 1 << 16  # of one block
BYTES = 1 << 23  # of the clocks of one block; where there are many lanes, blocks are shorter
FEWEST = 256


class Cuts:
    """Block n has the places from places[n] to places[n + 1], and so on for the host's waits and for epochs."""

    def __init__(self, plan: Plan, width: int) -> None:
        self._plan = plan
        size = min(MOMENTS, max(BYTES // (4 * max(width, 1)), FEWEST))
        host = plan.host.before + np.arange(len(plan.host.before))  # moments of the host's waits
        moments = len(plan) + len(host)
        marks = np.minimum(np.arange(-(-moments // size) + 1) * size, moments)
        self.waits: I64 = np.searchsorted(host, marks)
        self.places: I64 = marks - self.waits
        begun = [np.count_nonzero(plan.starts[a:b]) for a, b in pairwise(self.places.tolist())]
        self.epochs: I64 = np.cumsum([0, *begun])

    def __len__(self) -> int:
        return len(self.places) - 1

    @staticmethod
    def block(cuts: I64, values: NDArray[np.integer]) -> I64:
        """The block of each value of one kind."""
        return np.searchsorted(cuts, values, side="right") - 1

    @cached_property
    def crossing(self) -> tuple[I64, I64]:
        """(epoch, last block in which something waits for an operation of it): of those waited for in later blocks."""
        plan, (owner, target) = self._plan, self._plan.waits
        awaited = np.flatnonzero(plan.host.kind == FOR_OPERATION)
        block = np.concatenate([self.block(self.places, owner), self.block(self.waits, awaited)])
        epoch = plan.epoch[np.concatenate([target, plan.rank[plan.host.value[awaited]]])]
        keep = block > self.block(self.epochs, epoch)
        block, epoch = block[keep], epoch[keep].astype(np.int64)
        order = np.lexsort((block, epoch))
        block, epoch = block[order], epoch[order]
        last = np.append(epoch[1:] != epoch[:-1], True)[: len(epoch)]
        return epoch[last], block[last]
