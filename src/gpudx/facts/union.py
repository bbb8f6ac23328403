"""Which numbers there are among very many, without holding them all: they are added some at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.trace.slices import AT_ONCE

I64 = NDArray[np.int64]


class Union:
    """Sorted numbers, each once. What is added is joined with the rest when it is as much as that."""

    def __init__(self) -> None:
        self._known, self._added, self._size = np.zeros(0, np.int64), list[I64](), 0

    def add(self, numbers: NDArray[np.integer]) -> None:
        self._added.append(np.unique(numbers).astype(np.int64))
        self._size += len(self._added[-1])
        if self._size > len(self._known) + AT_ONCE:
            self._known, self._added, self._size = self.all(), [], 0

    def all(self) -> I64:
        return np.unique(np.concatenate([self._known, *self._added]))
