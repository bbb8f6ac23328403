"""The pointers in the arguments of launches: whole arguments, and words of structures that hold addresses.

A structure's members are not recorded by name, so every aligned word of it that lies in recorded memory counts as a
pointer. It need not be one: unused members hold what the stack held before. `word` tells the two kinds apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.declared import Declared
from gpudx.facts.memory import Memory
from gpudx.trace import Trace
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
WORD = 8
# Of one structure that are looked at: 4 KiB, as much as a kernel of CUDA 12.0 takes. A reduction of PyTorch has its input about 1 KB behind
# its beginning (ATen/native/cuda/Reduce.cuh, ReduceOp).
MOST_WORDS = 512


@dataclass(frozen=True)
class Pointers:
    """One row per pointer, by launch; within a launch whole arguments come first.

    launch    which of the positions given
    index     the argument
    word      offset inside the argument, 0 for an argument that is a pointer itself
    inside    it is a word of a structure
    declared  the kernel declares a pointer here; False where nothing is known of its type
    object    the allocation it lies in: a live one, else the one that was freed last, else -1
    live      was that alive at the launch?
    """

    launch: NDArray[np.int32]
    index: NDArray[np.uint16]
    word: NDArray[np.uint16]
    value: U64
    inside: Bool
    declared: Bool
    object: NDArray[np.int32]
    live: Bool

    def __len__(self) -> int:
        return len(self.launch)

    def of(self, launch: int) -> I64:
        """The rows of one launch."""
        first, last = np.searchsorted(self.launch, np.array([launch, launch + 1], np.int32))
        return np.arange(first, last)


Candidates = tuple[I64, NDArray[np.uint16], NDArray[np.uint16], U64, Bool, Bool]
Columns = tuple[NDArray[Any], ...]  # of Pointers, in order


def find_pointers(
    trace: Trace, memory: Memory, declared: Declared, positions: I64, kernel_rows: I64, rows: I64
) -> Pointers:
    """The pointers given to the launches (or graph nodes) at `positions[rows]`; `launch` is one of `rows`."""
    columns = _nothing()
    for some in slices(len(rows)):
        found = _candidates(trace, memory, declared, positions, kernel_rows, rows[some])
        for column, part in zip(columns, _placed(memory, positions, found), strict=True):
            column.resize(len(column) + len(part), refcheck=False)  # in place: no column is ever there twice
            column[len(column) - len(part) :] = part
    return Pointers(*columns)


def _placed(memory: Memory, positions: I64, candidates: Candidates) -> Columns:
    """With the allocation that each lies in; numbers that are no pointers are left out."""
    launch, index, word, value, inside, known = candidates
    found = memory.at(value, positions[launch])
    live = memory.live(found, positions[launch])
    keep = known | (found >= 0)
    order = np.flatnonzero(keep)[np.argsort(launch[keep], kind="stable")]  # sorted runs: cheap
    narrow = launch.astype(np.int32), index, word, value, inside, known, found.astype(np.int32), live
    return tuple(column[order] for column in narrow)


def _nothing() -> Columns:
    kinds = (np.int32, np.uint16, np.uint16, np.uint64, bool, bool, np.int32, bool)
    return tuple(np.zeros(0, kind) for kind in kinds)


def _candidates(
    trace: Trace, memory: Memory, declared: Declared, positions: I64, kernel_rows: I64, rows: I64
) -> Candidates:
    """Values that are declared as pointers, or may be ones, of some launches."""
    owner, raw = trace.arguments(positions[rows])
    flags = trace.schema.argument_flags
    readable = ((raw["flags"] & flags["set"]) != 0) & ((raw["flags"] & flags["unreadable"]) == 0)
    index = raw["index"]
    cells = declared.cells(kernel_rows[rows[owner]], index)
    known, pointer = declared.at_cells("known", cells), declared.at_cells("memory", cells)
    value = np.ascontiguousarray(raw["value"])
    whole = np.flatnonzero(readable & (raw["size"] == WORD) & (pointer | (~known & memory.maybe(value))))
    zero, no = np.zeros(len(whole), np.uint16), np.zeros(len(whole), bool)
    plain = (rows[owner[whole]], index[whole], zero, value[whole], no, pointer[whole])
    long = np.flatnonzero(readable & (raw["size"] > WORD) & ((raw["flags"] & flags["cut"]) == 0))
    inner = _words(trace, memory, positions, rows, owner, raw, long)
    return _joined([plain, inner])


def _joined(parts: Sequence[Candidates]) -> Candidates:
    return (
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
        np.concatenate([p[2] for p in parts]),
        np.concatenate([p[3] for p in parts]),
        np.concatenate([p[4] for p in parts]),
        np.concatenate([p[5] for p in parts]),
    )


def _words(
    trace: Trace, memory: Memory, positions: I64, rows: I64, owner: I64, raw: NDArray[np.void], long: I64
) -> Candidates:
    """Words of structures that lie in recorded memory."""
    begin, size = trace.tails(positions[rows])
    tail, bytes_ = raw["tail"][long].astype(np.int64), raw["size"][long].astype(np.int64)
    fits = (tail % WORD == 0) & (tail + bytes_ <= size[owner[long]])
    long, tail, bytes_ = long[fits], tail[fits], bytes_[fits]
    counts = np.minimum(bytes_ // WORD, MOST_WORDS)
    which = np.repeat(np.arange(len(long)), counts)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = trace.words8[begin[owner[long[which]]] + tail[which] // WORD + nth] if len(which) else trace.words8[:0]
    keep = memory.maybe(values)
    which, nth, values = which[keep], nth[keep], values[keep]
    source = long[which]
    yes, no = np.ones(len(source), bool), np.zeros(len(source), bool)
    index, word = raw["index"][source], (nth * WORD).astype(np.uint16)
    return rows[owner[source]], index, word, values, yes, no
