"""Host memory that the program showed us: what its calls read from, wrote to, or were given by mapping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import CallInfo, Facts
from gpudx.facts.objects import MEMORY

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


@dataclass(frozen=True)
class HostMemory:
    """One stretch of host memory, and the call that was given it."""

    begin: int
    size: int
    position: int
    text: str  # completes "the value is ..."


@dataclass
class HostRanges:
    """All stretches as columns, in no order."""

    begin: U64
    size: U64
    position: I64
    source: NDArray[np.uint8]

    TEXTS = (
        "the host memory that call {} copies from or to",
        "the host memory that a memory object was made from (call {})",
        "the address that a map call returned (call {})",
        "the address of a variable whose content call {} passed",
    )

    def holding(self, value: int, before: int) -> HostMemory | None:
        """The last stretch named before a position that holds the address."""
        hits = np.flatnonzero((self.begin <= value) & (value - self.begin < self.size) & (self.position < before))
        if not len(hits):
            return None
        hit = int(hits[np.argmax(self.position[hits])])
        position = int(self.position[hit])
        text = self.TEXTS[int(self.source[hit])].format(position + 1)
        return HostMemory(int(self.begin[hit]), int(self.size[hit]), position, text)


def host_ranges(facts: Facts) -> HostRanges:
    """What is known of the program's own memory."""
    parts = [*_copied(facts), _made_from(facts), *_mapped(facts), _variables(facts)]
    begin, size, position = (np.concatenate([p[i] for p in parts]) for i in range(3))
    source = np.concatenate([np.full(len(p[0]), p[3], np.uint8) for p in parts])
    keep = begin != 0
    return HostRanges(begin[keep], np.maximum(size[keep], 1), position[keep], source[keep])


Part = tuple[U64, U64, I64, int]


def _of(facts: Facts, info: CallInfo, pointer: str, source: int) -> Part:
    positions = facts.trace.select(info)
    return facts.trace.field(info, pointer, positions), facts.trace.field(info, "size", positions), positions, source


def _copied(facts: Facts) -> list[Part]:
    return [_of(facts, info, info.host, 0) for info in facts.trace.calls_made if info.host]


def _made_from(facts: Facts) -> Part:
    rows = facts.objects.rows_of(*MEMORY)
    table = facts.objects.table[rows]
    return table["host_ptr"], table["size"], table["born"], 1


def _mapped(facts: Facts) -> list[Part]:
    calls = [info for info in facts.trace.schema.doing("map") if info.word("result") is not None]
    return [_of(facts, info, "result", 2) for info in calls]


def _variables(facts: Facts) -> Part:
    """Each address once: programs pass the same variables over and over."""
    sets = facts.set_args
    begin, first = np.unique(sets.pointer, return_index=True)
    return begin, sets.size[first].clip(1, 1 << 20).astype(np.uint64), sets.position[first], 3
