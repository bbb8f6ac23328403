"""Which context, and through it which device, each call was made in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.trace import Trace

I64 = NDArray[np.int64]


class Contexts:
    """Numbers of contexts, as records carry them, resolved by time: a context that dies gives its number on."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        note = trace.schema.by_name("note_context")
        positions = trace.select(note) if note else np.zeros(0, np.int64)
        self._noted: dict[int, list[tuple[int, int, int]]] = {}  # number -> (position, context, device), oldest first
        for position in map(int, positions):
            words = trace.record(position)
            entry = (position, words["context"], words["device"])
            self._noted.setdefault(words["number"], []).append(entry)

    def __len__(self) -> int:
        return len(self._noted)

    def number(self, position: int) -> int:
        """The number of the context that the call at `position` was made in, 0 if not known."""
        return int(self._trace.context[position])

    def named(self, handle: int, positions: I64) -> I64:
        """The number of the context that has this handle at each position, -1 where none had it so far."""
        noted = sorted((e[0], number) for number, entries in self._noted.items() for e in entries if e[1] == handle)
        at, numbers = np.array([*noted, (0, -1)], np.int64).T  # the last one is for positions before the first note
        return numbers[np.searchsorted(at[:-1], positions, "right") - 1]

    def device(self, number: int, position: int) -> int | None:
        """The device of a context at a position."""
        entry = self._entry(number, position)
        return entry[2] if entry else None

    def handle(self, number: int, position: int) -> int | None:
        """The handle of a context at a position."""
        entry = self._entry(number, position)
        return entry[1] if entry else None

    def _entry(self, number: int, position: int) -> tuple[int, int, int] | None:
        """The note that was the latest then; the first one where a call came just before it."""
        entries = self._noted.get(number, [])
        earlier = [e for e in entries if e[0] <= position]
        return earlier[-1] if earlier else entries[0] if entries else None
