"""Memory that the recorder put between unreadable pages, and what it saw there.

Each block has a stretch of addresses to itself, from long before it to long after it, for as long as it lives and for
some time after it was freed. So an address in such a stretch tells which block was missed, and by how much.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpudx.facts.objects import NEVER, Objects
from gpudx.trace import Trace

MADE, FREED, GIVEN_BACK = 1, 2, 3
SIDES = {1: "high", 2: "low"}


@dataclass(frozen=True)
class Fenced:
    """One block. `object` is a row of Objects, -1 if its making was not recorded; `freed` a position, None while it lives."""

    object: int
    address: int
    size: int
    begin: int
    end: int
    made: int
    align: int
    side: str
    freed: int | None = None

    def offset(self, address: int) -> int:
        """Bytes from the block's start, negative before it."""
        return address - self.address


@dataclass(frozen=True)
class Damage:
    """Bytes beside a block that somebody wrote. They were whole at position `since`; it was noticed at `position`."""

    block: Fenced
    offset: int
    bytes: int
    since: int
    position: int


class Fences:
    """All blocks, and what was not fenced, with the reason."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects

    @cached_property
    def blocks(self) -> list[Fenced]:
        """In order of making."""
        return self._history[0]

    @cached_property
    def _history(self) -> tuple[list[Fenced], dict[int, int]]:
        """All blocks, and which of them hold their addresses still: number by first address."""
        blocks: list[Fenced] = []
        held: dict[int, int] = {}
        note = self._trace.schema.by_name("note_fence_block")
        for position in map(int, self._trace.select(note)) if note else ():
            words = self._words(position)
            begin, state = words["begin"], words["state"]
            if state == MADE:
                held[begin] = len(blocks)
                blocks.append(self._block(words, position))
            elif begin in held:
                number = held[begin] if state == FREED else held.pop(begin)
                blocks[number] = replace(blocks[number], freed=blocks[number].freed or position)
        return blocks, held

    def _words(self, position: int) -> dict[str, int]:
        """A note's words; what it does not have is 0."""
        return defaultdict(int, self._trace.record(position))

    def _block(self, words: dict[str, int], position: int) -> Fenced:
        return Fenced(
            object=self._row(words["object"], position),
            address=words["address"],
            size=words["size"],
            begin=words["begin"],
            end=words["end"],
            made=position,
            align=words["align"],
            side=SIDES.get(words["side"], "high"),
        )

    def _row(self, handle: int, position: int) -> int:
        """The object that was just being made; the note is written before the call that makes it is over."""
        table = self._objects.table
        rows = np.flatnonzero(
            (table["handle"] == np.uint64(handle)) & (table["born"] < position) & (table["born"] >= 0)
        )
        return int(rows[np.argmax(table["born"][rows])]) if len(rows) else -1

    def at(self, address: int) -> Fenced | None:
        """The block whose addresses these were at the end of the record."""
        blocks, held = self._history
        found = (blocks[number] for number in held.values())
        return next((block for block in found if block.begin <= address < block.end), None)

    def released(self, block: Fenced) -> int | None:
        """The call that dropped the program's last reference, or where the driver let it go; None while it lives."""
        if block.freed is None:
            return None
        died = int(self._objects.table["died"][block.object]) if block.object >= 0 else int(NEVER)
        return died if died < int(NEVER) else block.freed

    @cached_property
    def missed(self) -> Counter[str]:
        """How many memory objects have no fence, by reason."""
        note = self._trace.schema.by_name("note_not_fenced")
        return Counter(self._trace.text(int(p)) for p in self._trace.select(note)) if note else Counter()

    @cached_property
    def damages(self) -> list[Damage]:
        """Canaries that were found changed, in order."""
        note = self._trace.schema.by_name("note_canary")
        found = [self._damage(int(p)) for p in self._trace.select(note)] if note else []
        return [one for one in found if one is not None]

    def _damage(self, position: int) -> Damage | None:
        words = self._words(position)
        mine = [b for b in self.blocks if b.address == words["address"] and b.made < position]
        if not mine:
            return None
        since = int(np.searchsorted(self._trace.column("begin"), np.uint64(words["since"])))
        offset = words["offset"] - (1 << 64 if words["offset"] >> 63 else 0)
        return Damage(mine[-1], offset, words["bytes"], since, position)
