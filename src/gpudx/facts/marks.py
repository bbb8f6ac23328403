"""The parts of its run that a program named: which of them each call was made in."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.trace import Trace


class Marks:
    """Parts are of the whole process, not of a thread: a test may start threads. Of nested parts the innermost counts."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.position: NDArray[np.int64] = trace.named("note_mark")

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def _open(self) -> list[str]:
        """The part that each mark leaves open, "" for none. An end closes the last part of its name, and what is inside."""
        stack: list[str] = []
        after = []
        for position, begins in zip(self.position, self._trace.words(self.position, 0), strict=True):
            name = self._trace.text(int(position))
            if begins:
                stack.append(name)
            elif name in stack:
                del stack[len(stack) - 1 - stack[::-1].index(name) :]
            after.append(stack[-1] if stack else "")
        return after

    def at(self, position: int) -> str:
        """The part in which a call was made; "" outside of all."""
        mark = int(np.searchsorted(self.position, position)) - 1
        return self._open[mark] if mark >= 0 else ""
