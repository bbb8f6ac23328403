"""What the launches of a kernel were given for one argument, as columns over the launches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts.columns import Column, Why, column
from gpudx.facts import Facts

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
BRAIN = "bfloat16"  # the upper half of a float


@dataclass(frozen=True)
class Given:
    """Argument `index` of the launches `rows`. `name` is what reasons call it."""

    facts: Facts
    rows: I64
    index: int
    name: str

    @cached_property
    def _cells(self) -> tuple[I64, Bool]:
        """Where it stands in the table of arguments, and in which launches it does."""
        args = self.facts.launches.arguments
        mine = np.flatnonzero(args.index == self.index)
        if not len(mine):
            return np.zeros(len(self.rows), np.int64), np.zeros(len(self.rows), bool)
        at = np.minimum(np.searchsorted(args.launch[mine], self.rows), len(mine) - 1)
        return mine[at], args.launch[mine[at]] == self.rows

    @property
    def there(self) -> Bool:
        return self._cells[1]

    def _take(self, values: NDArray[Any], other: int) -> NDArray[Any]:
        cells, there = self._cells
        return np.where(there, values[cells], other) if there.any() else np.full(len(self.rows), other, values.dtype)

    @cached_property
    def word(self) -> U64:
        """The first 8 bytes of each value."""
        return self._take(self.facts.launches.arguments.value, 0).astype(np.uint64)

    @cached_property
    def size(self) -> U64:
        return self._take(self.facts.launches.arguments.size, 0).astype(np.uint64)

    @cached_property
    def object(self) -> I64:
        """The live memory object that each names or points into, -1 if none is known."""
        found = self._take(self.facts.launches.arguments.object, -1).astype(np.int64)
        shared = self.flagged("svm")
        if shared.any():
            positions = self.facts.launches.position[self.rows[shared]]
            held = self.facts.memory.at(self.word[shared], positions)
            found[shared] = np.where(self.facts.memory.live(held, positions), held, -1)
        return found

    def flagged(self, *names: str) -> Bool:
        bits = sum(self.facts.trace.schema.argument_flags[name] for name in names)
        return (self._take(self.facts.launches.arguments.flags, 0) & bits) != 0

    @cached_property
    def readable(self) -> tuple[Bool, Why]:
        """In which launches there is a value, and why not in the others."""
        lost = self.flagged("unreadable", "cut")
        why = (
            (f"{self.name} was never set, or was not recorded", ~self.there),
            (f"{self.name} could not be read when the launch was made", lost),
        )
        return self.there & ~lost, why

    def number(self, form: str) -> Column:
        """The values, read as numpy's type `form` or as BRAIN."""
        read, why = self.readable
        fits = self.size == np.uint64(2 if form == BRAIN else np.dtype(form).itemsize)
        why = (*why, (f"{self.name} was set with another size than its type has", read & ~fits))
        word = np.ascontiguousarray(self.word)
        if form == BRAIN:
            values = ((word & np.uint64(0xFFFF)) << np.uint64(16)).astype("<u4").view("<f4")
        else:
            values = word.view(form).reshape(len(word), -1)[:, 0]
        return column(values, read & fits, why)
