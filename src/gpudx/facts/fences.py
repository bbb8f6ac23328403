"""Fenced memory: which allocations had a fence, how many had none and why, and slack that was written to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.objects import Objects
from gpudx.trace import Trace

FAMILIES = ("device", "pitched", "async")  # memory that fences are made for
REASONS = ("managed", "captured", "memory", "addresses", "unsupported", "other")


@dataclass(frozen=True)
class Damage:
    """Slack of a block that somebody wrote to. `since` is the position up to which it was surely whole."""

    position: int  # of the note: it was seen here
    since: int
    address: int
    size: int
    behind: bool  # behind the end, else before the start
    distance: int  # from that edge to the nearest byte that changed
    bytes: int
    seen: int


class Fences:
    """The fences of one process."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects

    @cached_property
    def counts(self) -> dict[str, int]:
        """The latest counts of the recorder; empty where there were no fences."""
        note = self._trace.schema.by_name("note_fence")
        positions = self._trace.select(note) if note is not None else np.zeros(0, np.int64)
        if not len(positions):
            return {}
        last = int(positions[-1])
        return self._trace.record(last) | self._trace.named_numbers(last)

    @property
    def live(self) -> bool:
        return bool(self.counts)

    @cached_property
    def _flagged(self) -> NDArray[np.bool_]:
        """Objects whose making says that they are fenced."""
        born, flag = self._objects.table["born"], self._trace.schema.flags.get("fenced", 0)
        flags = self._trace.column("flags", np.maximum(born, 0)) if len(born) else np.zeros(0, np.uint16)
        return (born >= 0) & ((flags & flag) != 0)

    def has(self, row: int) -> bool:
        """Is this object (a row of Objects) a fenced block?"""
        return row >= 0 and bool(self._flagged[row])

    @cached_property
    def fenced(self) -> int:
        """How many blocks were fenced: the records say so one by one, also where the last counts are missing."""
        return int(self._flagged.sum())

    @cached_property
    def unfenced(self) -> dict[str, int]:
        """How many allocations had no fence, by reason."""
        return {reason: self.counts[reason] for reason in REASONS if self.counts.get(reason)}

    @cached_property
    def damages(self) -> list[Damage]:
        note = self._trace.schema.by_name("note_canary")
        positions = self._trace.select(note) if note is not None else np.zeros(0, np.int64)
        return [self._damage(int(position)) for position in positions]

    def _damage(self, position: int) -> Damage:
        words = self._trace.record(position)
        since = int(np.searchsorted(self._trace.column("begin"), np.uint64(words["since"]))) - 1
        return Damage(
            position,
            since,
            words["address"],
            words["size"],
            bool(words["side"]),
            words["distance"],
            words["bytes"],
            words["seen"],
        )
