"""Parts of buffers: may each be its own memory without the program noticing?

Parts of one buffer share its bytes. A program that uses a buffer by parts which do not overlap, and never the buffer itself, cannot
tell them from buffers of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts


def can_be_apart(facts: Facts) -> bool:
    """Said only where the record is whole: one use that nobody saw could be of the buffer itself."""
    parts, table = facts.objects.rows_of("subbuffer"), facts.objects.table
    if not len(parts) or facts.trace.gaps:
        return False
    parents = np.unique(table["parent"][parts])
    return bool((parents >= 0).all()) and not _is_used(facts, parents) and not _overlap(facts, parts)


def _is_used(facts: Facts, parents: NDArray[np.int64]) -> bool:
    """Do they have content of the program's, or a use or a view beside their parts?"""
    table = facts.objects.table
    views = np.setdiff1d(np.flatnonzero(np.isin(table["parent"], parents)), facts.objects.rows_of("subbuffer"))
    given = bool(table["host_ptr"][parents].any())
    return given or bool(len(views)) or bool(np.isin(facts.accesses["object"], parents).any())


def _overlap(facts: Facts, parts: NDArray[np.int64]) -> bool:
    table = facts.objects.table[parts]
    order = np.lexsort((table["offset"], table["parent"]))
    parent, first, size = (table[name][order].astype(np.int64) for name in ("parent", "offset", "size"))
    return bool(((parent[1:] == parent[:-1]) & (first[1:] < first[:-1] + size[:-1])).any())
