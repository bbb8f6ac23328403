"""Memory that the recorder put between addresses that nobody may touch, and what it saw there.

Each block has a stretch of addresses to itself, from long before it to long after it, for as long as it lives and for
some time after it was freed. So an address in such a stretch tells which block was missed, and by how much. A block with a
red zone has no such stretch, only bytes behind it that nobody may write.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpudx.facts.objects import NEVER, Objects
from gpudx.trace import Trace

MADE, FREED, GIVEN_BACK = 1, 2, 3
RED = "red"
EDGES = {1: "high", 2: "low", 3: RED}


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
    edge: str
    on_host: bool  # the processor can access it: a fault is a signal
    freed: int | None = None
    given_back: bool = False  # its addresses may be somebody else's by now

    def offset(self, address: int) -> int:
        """Bytes from the block's start, negative before it."""
        return address - self.address


@dataclass(frozen=True)
class Damage:
    """Bytes beside a block that somebody wrote, the first of them `offset` bytes from its start.

    They were whole when the call at position `since` began; it was noticed at `position`.
    """

    block: Fenced
    offset: int
    bytes: int
    seen: int
    since: int
    position: int


class Fences:
    """All blocks of one process, and what was not fenced, with the reason."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects

    @property
    def live(self) -> bool:
        """Were fences asked for, and is there memory that could have one?"""
        return bool(self.blocks or self.missed)

    # ---- blocks ----

    @cached_property
    def blocks(self) -> list[Fenced]:
        """In order of making."""
        blocks: list[Fenced] = []
        held: dict[int, int] = {}  # which of them hold their addresses still: number by first address
        for position in self._notes("note_fence_block"):
            words = self._words(position)
            begin, state = words["begin"], words["state"]
            if state == MADE:
                held[begin] = len(blocks)
                blocks.append(self._block(words, position))
            elif begin in held:
                number = held[begin]
                back = state == GIVEN_BACK
                blocks[number] = replace(blocks[number], freed=blocks[number].freed or position, given_back=back)
                if back:
                    del held[begin]
        return blocks

    def _notes(self, name: str) -> list[int]:
        return [int(p) for p in self._trace.named(name)]

    def _words(self, position: int) -> dict[str, int]:
        """A note's words; what it does not have is 0."""
        return defaultdict(int, self._trace.record(position))

    def _block(self, words: dict[str, int], position: int) -> Fenced:
        return Fenced(
            object=self._objects.being_made(words["object"], position),
            address=words["address"],
            size=words["size"],
            begin=words["begin"],
            end=words["end"],
            made=position,
            align=words["align"],
            edge=EDGES.get(words["edge"], "high"),
            on_host=bool(words["on_host"]),
        )

    @cached_property
    def _fenced(self) -> set[int]:
        return {block.object for block in self.blocks if block.edge != RED}

    def has(self, row: int) -> bool:
        """Is this object (a row of Objects) a block between fences?"""
        return row >= 0 and row in self._fenced

    def at(self, address: int) -> Fenced | None:
        """The block whose addresses these were at the end of the record."""
        held = (block for block in reversed(self.blocks) if not block.given_back)
        return next((block for block in held if block.begin <= address < block.end), None)

    def released(self, block: Fenced) -> int | None:
        """The call that dropped the program's last reference, or where the driver let it go; None while it lives."""
        if block.freed is None:
            return None
        died = int(self._objects.table["died"][block.object]) if block.object >= 0 else int(NEVER)
        return died if died < int(NEVER) else block.freed

    # ---- the rest ----

    @cached_property
    def missed(self) -> Counter[str]:
        """How many pieces of memory have no fence, by reason."""
        return Counter(self._trace.text(p) for p in self._notes("note_not_fenced"))

    @cached_property
    def counts(self) -> Counter[str]:
        """What the recorder counted: checks, damaged, shared."""
        return sum((Counter(self._trace.record(p)) for p in self._notes("note_fence")), Counter())

    @cached_property
    def damages(self) -> list[Damage]:
        """Canaries that were found changed, in order."""
        found = [self._damage(p) for p in self._notes("note_canary")]
        return [one for one in found if one is not None]

    def _damage(self, position: int) -> Damage | None:
        words = self._words(position)
        mine = [b for b in self.blocks if b.address == words["address"] and b.made < position]
        if not mine:
            return None
        since = int(np.searchsorted(self._trace.column("begin"), np.uint64(words["since"])))
        offset = words["offset"] - (1 << 64 if words["offset"] >> 63 else 0)
        return Damage(mine[-1], offset, words["bytes"], words["seen"], since, position)
