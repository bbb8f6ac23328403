"""Host memory of a function that had returned while a copy might still work on it.

A stack grows downwards: at each call, what lies below the caller's stack pointer belongs to no function that is still
running. An address that was above the stack pointer when a copy was asked for, and is below it at a later call of the same
thread, was a variable of a function that returned in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
NEXT = 8  # so many later calls of the thread are looked at
NEAR = 64 << 10  # on stacks whose bounds are not known: fibres have their own, of more than this


@dataclass(frozen=True)
class _Calls:
    """Calls that tell their stack pointer, by thread and time."""

    position: I64
    tid: I64
    pointer: U64


def left(facts: Facts) -> I64:
    """(row of HostCopies, position of the first later call that was made after the function had returned)."""
    table, calls = facts.host_copies.table, _calls(facts)
    rows = np.flatnonzero((table["stack"] != 0) & (table["address"] >= table["stack"]) & ~table["blocking"])
    at = np.searchsorted(
        _keys(facts, calls.tid, calls.position), _keys(facts, _tids(facts, rows), table["position"][rows])
    )
    found = np.full(len(rows), -1, np.int64)
    for step in range(1, NEXT + 1):
        later = np.minimum(at + step, len(calls.position) - 1)
        gone = (at + step < len(calls.position)) & (calls.tid[later] == _tids(facts, rows)) & (found < 0)
        gone &= _gone(facts, rows, calls.pointer[later])
        found[gone] = calls.position[later[gone]]
    return np.stack([rows, found], axis=1)[found >= 0]


def _calls(facts: Facts) -> _Calls:
    trace = facts.trace
    infos = [c for c in trace.schema.calls if ("stack", "stack") in c.fields]
    position = np.concatenate([np.zeros(0, np.int64), *(trace.select(c) for c in infos)])
    pointer = np.concatenate([np.zeros(0, np.uint64), *(trace.field(c, "stack", trace.select(c)) for c in infos)])
    tid = trace.column("tid", position).astype(np.int64)
    order = np.argsort(_keys(facts, tid, position))
    return _Calls(position[order], tid[order], pointer[order])


def _keys(facts: Facts, tid: I64, position: I64) -> I64:
    """One number for (thread, position)."""
    return tid * (len(facts.trace) + 1) + position


def _tids(facts: Facts, rows: I64) -> I64:
    return facts.trace.column("tid", facts.host_copies.table["position"][rows]).astype(np.int64)


def _gone(facts: Facts, rows: I64, pointer: U64) -> NDArray[np.bool_]:
    """Was the address below this stack pointer, on the same stack?"""
    table = facts.host_copies.table[rows]
    below = (table["address"] < pointer) & (table["stack"] < pointer)
    far = np.flatnonzero(below & (pointer - table["stack"] > NEAR))
    for row in far:
        ends = (int(table["stack"][row]), int(pointer[row]))
        below[row] = all(facts.symbols.kind(end) == "stack" for end in ends)
    return below
