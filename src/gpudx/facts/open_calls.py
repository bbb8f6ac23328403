"""Calls that had not returned when the record ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts

I64 = NDArray[np.int64]


def open_calls(facts: Facts) -> I64:
    """Calls of the program that had not returned when the record ends."""
    return facts.in_flight[~facts.trace.is_note[facts.in_flight]]


def fatal_call(facts: Facts) -> int | None:
    """The innermost open call of the thread that a fatal signal reached, None if it was in none."""
    words = facts.trace.last_words
    if words is None:
        return None
    positions = open_calls(facts)
    mine = positions[facts.trace.column("tid", positions) == words.tid]
    return int(mine[-1]) if len(mine) else None
