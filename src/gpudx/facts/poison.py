"""Fresh memory that the recorder filled with a pattern, and where the pattern came back to the program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.facts.memory import Memory
from gpudx.facts.objects import Objects
from gpudx.trace import Trace


@dataclass(frozen=True)
class CameBack:
    """A reading of the program's (the call at `position`) that held the pattern, of the object `row`.

    Of `bytes` from `offset` on, so many `words` of 4 bytes were the pattern, the first of them at `first`.
    """

    position: int
    row: int
    offset: int
    bytes: int
    words: int
    first: int


class Poison:
    """What was filled in one process, what was not and why, and what came back."""

    def __init__(self, trace: Trace, objects: Objects, memory: Memory) -> None:
        self._trace, self._objects, self._memory = trace, objects, memory

    def _notes(self, name: str) -> list[int]:
        return [int(p) for p in self._trace.named(name)]

    @cached_property
    def filled(self) -> dict[int, int]:
        """The pattern's 16 bits by object (row of Objects)."""
        found = {}
        for position in self._notes("note_poisoned"):
            words = self._trace.record(position)
            found[self._objects.being_made(words["object"], position)] = words["pattern"]
        return found

    @cached_property
    def count(self) -> int:
        """How many pieces of memory were filled."""
        return len(self._notes("note_poisoned"))

    @cached_property
    def missed(self) -> Counter[str]:
        """How many pieces of memory were not filled, by reason."""
        return Counter(self._trace.text(p) for p in self._notes("note_not_poisoned"))

    @cached_property
    def readings(self) -> list[tuple[int, int]]:
        """Bytes and digest of everything that the program was given by copies that were looked at."""
        records = [self._trace.record(position) for position in self._notes("note_read_back")]
        return [(words["bytes"], words["digest"]) for words in records]

    @cached_property
    def pattern(self) -> int | None:
        """The pattern as a word of 4 bytes."""
        return next((bits * 0x10001 for bits in self.filled.values()), None)

    @cached_property
    def back(self) -> list[CameBack]:
        """Readings that held the pattern, in order."""
        found = []
        for position in self._notes("note_poison_back"):
            words = self._trace.record(position)
            row, begin = self._row(words["object"], position)
            reading = self._reading(position)
            if row >= 0 and reading is not None:
                offset, first = begin + words["offset"], begin + words["first"]
                found.append(CameBack(reading, row, offset, words["bytes"], words["words"], first))
        return found

    def _row(self, handle: int, position: int) -> tuple[int, int]:
        """The object with this handle, or with this address in it, and how far inside; -1: not recorded."""
        row = self._objects.being_made(handle, position)
        if row >= 0:
            return row, 0
        row = self._memory.one(handle, position)
        return row, self._memory.offset(row, handle) if row >= 0 else 0

    def _reading(self, note: int) -> int | None:
        """The call that the note is of: the latest copy of the same thread that began before it."""
        tid = self._trace.column("tid", np.array([note]))[0]
        copies = self._trace.select(tuple(self._trace.schema.doing("copy")))
        mine = copies[(copies < note) & (self._trace.column("tid", copies) == tid)]
        return int(mine[-1]) if len(mine) else None
