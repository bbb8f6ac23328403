"""Work that may write memory which a launch reads, and that nothing orders with the launch."""

from __future__ import annotations

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.given_memory import uses


def unordered_writer(facts: Facts, position: int, memory: int) -> np.void | None:
    """The first such use of the memory (a row of given_memory.uses); None if all writers come surely before or after."""
    table = uses(facts)
    rows = table[(table["object"] == memory) & ((table["how"] & WRITE) != 0) & (table["position"] != position)]
    launch, writers = facts.happens.op_at(np.array([position])), facts.happens.op_at(rows["position"])
    rows, writers = rows[writers >= 0], writers[writers >= 0]
    if launch[0] < 0 or not len(rows):
        return None
    here = np.full(len(rows), launch[0])
    free = ~facts.happens.ordered(writers, here) & ~facts.happens.ordered(here, writers)
    return rows[free][0] if free.any() else None
