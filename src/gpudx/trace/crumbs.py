"""Crumbs of a trace as rows: for each stream the last number that the device wrote, and the call behind each number.

native/core/crumbs.h says what they are. Nothing is believed before it is checked: a mark counts only if a call with that lane and
sequence number is in the trace and says that a crumb stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.trace.reader import CRUMBS, Trace

IN_TRACE = 1
FREE = 0
UNORDERED = 1
SEQUENCE_BITS = 24
WANTED = ("rows", "cells", "cell_bytes", "marks", "marks_per_row")
NONE = -1
U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class CrumbRow:
    """One stream of one context.

    `reached` is the call behind the last crumb that the device wrote, `next` the call behind the first one that it had not come
    to; positions in the trace, -1: there is none, or its call is not in the trace any more. `known`: the cells are those of the
    end of the record.
    """

    context: int
    queue: int
    tid: int  # of a thread's own default stream, else 0
    issued: int
    cell: int
    reached: int
    next: int
    known: bool
    unordered: bool = False  # work ends in any order: `reached` and `next` say nothing, `pending` does
    pending: tuple[int, ...] = ()  # of an unordered queue: calls with a crumb that have not ended

    @property
    def behind(self) -> int:
        """Crumbs that the device had not come to."""
        return self.issued - self.cell


def read_crumbs(trace: Trace) -> tuple[CrumbRow, ...]:
    """All rows in use, in the order of the file."""
    places = trace.schema.crumbs
    if any(name not in places for name in WANTED) or "crumb" not in trace.schema.layouts:
        return ()
    keys = _Keys(trace)
    return tuple(row for block in trace.blocks(CRUMBS) for row in _rows(trace, block, keys))


class _Keys:
    """Calls with a crumb by what marks say of them."""

    def __init__(self, trace: Trace) -> None:
        flag = trace.schema.flags.get("crumb", 0)
        found = np.flatnonzero(((trace.column("flags") & flag) != 0) & (trace.lane > 0))
        sequence = trace.column("seq", found) & np.uint64((1 << SEQUENCE_BITS) - 1)
        key = trace.lane[found].astype(np.uint64) << np.uint64(SEQUENCE_BITS) | sequence
        order = np.argsort(key, kind="stable")
        self._key, self._position = key[order], found[order]

    def positions(self, marks: U32) -> I64:
        """The call of each mark, the latest where several fit; -1 where none does."""
        if not len(self._key):
            return np.full(len(marks), NONE, np.int64)
        at = np.searchsorted(self._key, marks.astype(np.uint64), "right") - 1
        good = (at >= 0) & (marks != 0) & (self._key[at] == marks)
        return np.where(good, self._position[at], NONE)


def _rows(trace: Trace, block: NDArray[np.uint8], keys: _Keys) -> Iterator[CrumbRow]:
    places = trace.schema.crumbs
    layout, head = trace.schema.layouts["crumb"], trace.schema.layouts["chunk"]
    count, per_row = places["rows"], places["marks_per_row"]
    end = places["marks"] + count * per_row * 4
    if len(block) < end or per_row < 1:
        return  # the file was cut
    chunk = block[: head.itemsize].view(head)[0]
    rows = block[head.itemsize : head.itemsize + count * layout.itemsize].view(layout)
    cells = block[places["cells"] : places["cells"] + count * places["cell_bytes"]].reshape(count, -1)[:, :4]
    cells = np.ascontiguousarray(cells).view("<u4").reshape(-1)
    marks = block[places["marks"] : end].view("<u4").reshape(count, per_row)
    state, fields = int(chunk["crumbs_state"]), layout.names or ()
    known = state == IN_TRACE or (state > IN_TRACE and int(chunk["crumbs_kept"]) > 0)
    for i in np.flatnonzero(rows["state"] != FREE).tolist():
        cell, issued = int(cells[i]), int(rows["issued"][i])
        unordered = "unordered" in fields and int(rows["unordered"][i]) == UNORDERED
        reached, following = (NONE, NONE) if unordered else _places(marks[i], cell, issued, keys)
        yield CrumbRow(
            context=int(chunk["crumbs_context"]),
            queue=int(rows["queue"][i]),
            tid=int(rows["tid"][i]),
            issued=issued,
            cell=cell,
            reached=reached,
            next=following,
            known=known and cell <= issued,
            unordered=unordered,
            pending=_pending(marks[i], issued, keys) if unordered else (),
        )


def _pending(marks: U32, issued: int, keys: _Keys) -> tuple[int, ...]:
    """The calls whose marks were not taken away; the oldest may have been overwritten."""
    found = keys.positions(marks[marks != 0])
    return tuple(sorted(int(p) for p in found if p != NONE))


def _places(marks: U32, cell: int, issued: int, keys: _Keys) -> tuple[int, int]:
    """The calls behind crumb `cell` and behind the first later one that is known."""
    kept = len(marks)
    numbers = np.arange(max(cell, issued - kept + 1, 1), max(issued, cell) + 1)[:kept]
    found = keys.positions(marks[numbers % kept])
    reached = found[numbers == cell]
    later = found[(numbers > cell) & (found != NONE)]
    return int(reached[0]) if len(reached) else NONE, int(later[0]) if len(later) else NONE
