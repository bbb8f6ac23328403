"""Buffers that one place of the program creates with one size: slots of a ring, the outputs of several batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import KINDS

I64 = NDArray[np.int64]


def siblings(facts: Facts, obj: int) -> I64:
    """The other buffers that the same line created with the same size."""
    table = facts.objects.table
    rows = np.flatnonzero((table["kind"] == KINDS.index("buffer")) & (table["size"] == table["size"][obj]) & (table["born"] >= 0))
    rows = rows[rows != obj]
    caller = facts.trace.column("caller", table["born"][np.append(rows, obj)])
    return rows[caller[:-1] == caller[-1]]


def unused_siblings(facts: Facts, obj: int) -> I64:
    """Those of them that no recorded call was given."""
    rows = siblings(facts, obj)
    return rows[~np.isin(rows, uses(facts)["object"])]
