"""Copies whose source the recorder found changed before the program waited (native/core/sources.h).

Only what the program's own code must have changed is told. Left out are programs in which something else may have written the
source, or may have told the program that the copy was complete: callbacks and host functions, shared virtual memory, host memory
that kernels are given, memory behind buffers, and copies into the source.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.given_memory import uses
from gpudx.facts.host_writers import UNSEEN
from gpudx.facts.notes import call_before
from gpudx.facts.objects import FAMILIES, HOST_FAMILIES
from gpudx.facts.ranges import READ, WRITE

I64 = NDArray[np.int64]


def changed_sources(facts: Facts) -> I64:
    """(row of HostCopies, position of the call at whose beginning its source was different)."""
    positions = facts.trace.named("note_source_changed")
    if not len(positions) or _is_unclear(facts):
        return np.zeros((0, 2), np.int64)
    found = [pair for at in positions.tolist() if (pair := _pair(facts, at)) is not None]
    return np.array([pair for pair in found if not _is_written(facts, *pair)], np.int64).reshape(-1, 2)


def _is_unclear(facts: Facts) -> bool:
    """May something unseen write host memory, or tell the program that work has ended?"""
    if any(len(facts.trace.named(name)) for name in UNSEEN):
        return True
    table, given = facts.objects.table, uses(facts)
    of_host = np.isin(table["family"], [FAMILIES.index(name) for name in HOST_FAMILIES])
    return bool(of_host[given["object"][given["argument"] >= 0]].any())


def _is_written(facts: Facts, row: int, later: int) -> bool:
    """Does a copy write the source in between, or does it lie behind a buffer?"""
    table, objects = facts.host_copies.table, facts.objects.table
    first, end = int(table["address"][row]), int(table["address"][row] + table["size"][row])
    copies = (table["how"] == WRITE) & (table["position"] <= later)
    copies &= (table["address"] < end) & (table["address"] + table["size"] > first)
    behind = facts.objects.on_host & (objects["host_ptr"] < end) & (objects["host_ptr"] + objects["size"] > first)
    return bool(copies.any() or behind.any())


def _pair(facts: Facts, note: int) -> tuple[int, int] | None:
    table, record = facts.host_copies.table, facts.trace.record(note)
    later = call_before(facts, note)
    rows = np.flatnonzero(
        (table["address"] == record["address"])
        & (table["size"] == record["size"])
        & (table["how"] == READ)
        & ~table["blocking"]
        & (table["position"] < later)
    )
    return (int(rows[-1]), later) if len(rows) else None
