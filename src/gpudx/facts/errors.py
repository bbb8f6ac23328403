"""Calls that reported failure, first to last. Queries are left out: asking for what is not there is ordinary."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.trace import Trace

NULL_RESULT = -100000  # native/core/recorder.h: GDX_STATUS_NULL


class Errors:
    """One row per failing call."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        quiet = np.zeros(1 << 16, bool)
        quiet[[c.number for c in trace.schema.calls if c.does == "query" or c.api == "note"]] = True
        failing = trace.column("status") != 0
        self.position: NDArray[np.int64] = np.flatnonzero(failing & ~quiet[trace.call])

    def __len__(self) -> int:
        return len(self.position)

    def status_name(self, position: int) -> str:
        """The API's own name for the status of a call."""
        status = int(self._trace.column("status", np.array([position]))[0])
        if status == NULL_RESULT:
            return "a null result"
        return self._trace.schema.status_name(self._trace.info(position).api, status)

    @cached_property
    def stacks(self) -> dict[int, tuple[int, ...]]:
        """Host stacks of failing calls by position, as return addresses, innermost first."""
        note = self._trace.schema.by_name("note_stack")
        if note is None or not len(self.position):
            return {}
        by_address = dict(zip(self._trace.slot_address(self.position).tolist(), self.position.tolist(), strict=True))
        found = {}
        for at in map(int, self._trace.select(note)):
            of = by_address.get(self._trace.record(at)["of"])
            if of is not None:
                found[of] = self._trace.numbers(at, "frames")
        return found
