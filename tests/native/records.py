"""The self-checking records of programs/core_driver.c, read back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.trace import Trace

RING_CALL, LEDGER_CALL = "clSetKernelArg", "clCreateBuffer"
WORDS = 9


@dataclass(frozen=True)
class Read:
    """The records of one call in a trace: who wrote each, its counter, and whether its words are the right ones."""

    thread: NDArray[np.uint64]
    counter: NDArray[np.uint64]
    whole: NDArray[np.bool_]

    def counters(self, thread: int) -> NDArray[np.uint64]:
        return np.sort(self.counter[self.thread == thread])


def word(thread: NDArray[np.uint64], counter: NDArray[np.uint64], i: int) -> NDArray[np.uint64]:
    """As `word` of core_driver.c."""
    with np.errstate(over="ignore"):
        x = (thread + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + counter * np.uint64(0xBF58476D1CE4E5B9)
        x = x + np.uint64(i * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(29))
    return mixed


def read(trace: Trace, call: str = RING_CALL) -> Read:
    """All records of `call`, checked."""
    info = trace.schema.by_name(call)
    assert info
    positions = trace.select(info)
    thread, counter = trace.words(positions, 0), trace.words(positions, 1)
    whole = np.ones(len(positions), bool)
    for i in range(2, WORDS):
        whole &= trace.words(positions, i) == word(thread, counter, i)
    whole &= trace.column("blob_bytes", positions) == _blob_bytes(counter)
    return Read(thread, counter, whole)


def _blob_bytes(counter: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A part has a head of 8 bytes and is padded to 8; every third record has one."""
    size = np.where(counter % np.uint64(3) == 0, counter % np.uint64(97), np.uint64(0))
    return np.where(size > 0, (size + np.uint64(7)) // np.uint64(8) * np.uint64(8) + np.uint64(8), np.uint64(0))


def gap(trace: Trace, kind: str) -> int:
    """How many records the trace says it lacks for this reason."""
    return sum(gap.count for gap in trace.gaps if gap.kind == kind)
