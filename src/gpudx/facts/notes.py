"""Notes of the recorder, among the calls of the program."""

from __future__ import annotations

import numpy as np

from gpudx.facts import Facts


def call_before(facts: Facts, note: int) -> int:
    """The last call that the note's thread had begun; -1: none."""
    trace = facts.trace
    mine = (trace.column("tid") == trace.column("tid", np.array([note]))[0]) & ~trace.is_note
    before = np.flatnonzero(mine[:note])
    return int(before[-1]) if len(before) else -1
