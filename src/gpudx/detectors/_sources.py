"""Copies whose source the recorder found changed before the program waited (native/core/sources.h)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.ranges import READ

I64 = NDArray[np.int64]


def changed_sources(facts: Facts) -> I64:
    """(row of HostCopies, position of the call at whose beginning its source was different)."""
    note = facts.trace.schema.by_name("note_source_changed")
    positions = facts.trace.select(note) if note is not None else np.zeros(0, np.int64)
    found = [pair for at in positions.tolist() if (pair := _pair(facts, at)) is not None]
    return np.array(found, np.int64).reshape(-1, 2)


def _pair(facts: Facts, note: int) -> tuple[int, int] | None:
    table, record = facts.host_copies.table, facts.trace.record(note)
    later = _call_before(facts, note)
    rows = np.flatnonzero(
        (table["address"] == record["address"])
        & (table["size"] == record["size"])
        & (table["how"] == READ)
        & ~table["blocking"]
        & (table["position"] < later)
    )
    return (int(rows[-1]), later) if len(rows) else None


def _call_before(facts: Facts, note: int) -> int:
    """The last call that the note's thread had begun; -1: none."""
    trace = facts.trace
    calls = np.array([info.api != "note" for info in trace.schema.calls])
    mine = (trace.column("tid") == trace.column("tid", np.array([note]))[0]) & calls[trace.call]
    before = np.flatnonzero(mine[:note])
    return int(before[-1]) if len(before) else -1
