"""Which context, and through it which device, each call was made in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.trace import Trace

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
NOT_KNOWN = -1


class Contexts:
    """Numbers of contexts, as records carry them, resolved by time: a context that dies gives its number on."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        positions = trace.named("note_context")
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

    def named(self, handles: U64, positions: I64) -> I64:
        """The numbers of contexts that calls are given by their handles, NOT_KNOWN where no call was seen in one. A null handle
        is the context that the call is made in (CUDA driver API reference, cuCtxSynchronize_v2)."""
        found = self._trace.context[positions].astype(np.int64)
        for handle in np.unique(handles[handles != 0]).tolist():
            found[handles == handle] = self._numbers_of(handle, positions[handles == handle])
        return found

    def _numbers_of(self, handle: int, positions: I64) -> I64:
        """The latest that was noted with this handle; the first where a call came just before it."""
        noted = sorted((e[0], number) for number, entries in self._noted.items() for e in entries if e[1] == handle)
        at, numbers = np.array(noted or [(0, NOT_KNOWN)], np.int64).T
        return numbers[(np.searchsorted(at, positions, "right") - 1).clip(0)]

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
