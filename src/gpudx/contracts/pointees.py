"""The memory behind an argument: how much of it, from where on, and how it is aligned."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts.columns import Column, Why, arithmetic, column
from gpudx.contracts.given import Given
from gpudx.facts.kernels import ArgInfo
from gpudx.facts.objects import FAMILIES, KINDS

U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
MAPPED = FAMILIES.index("mapped")  # the next mapping may go on where this one ends
SHAPELESS = [KINDS.index(kind) for kind in ("image", "pipe")]
POINTER = np.uint64(8)  # bytes


@dataclass(frozen=True)
class Pointee:
    """What one argument of some launches points into; `declared` is how the kernel declares it, if that is known."""

    given: Given
    declared: ArgInfo | None

    def ask(self, function: str, operands: list[Column]) -> Column:
        """The answer of one of the language's functions of arguments."""
        if function == "is_null":
            return column(self._null, *self._pointers)
        if function == "aligned":
            return self._aligned(operands[0])
        told = {"bytes": self._whole - self._offset, "size": self._whole, "offset": self._offset}
        return column(told[function], *self._bounded)

    # ---- what kind of pointer ----

    @cached_property
    def _local(self) -> Bool:
        """A size without memory behind it: each group has its own."""
        memory = self.declared is not None and self.declared.is_memory
        return self.given.flagged("local") & (not memory)

    @cached_property
    def _null(self) -> Bool:
        without = self.given.flagged("local") & ~self._local  # memory was declared, and no object given for it
        return self.given.readable[0] & (self.given.size == POINTER) & ~self._local & ((self.given.word == 0) | without)

    @cached_property
    def _pointers(self) -> tuple[Bool, Why]:
        read, why = self.given.readable
        pointer = self._local | (self.given.size == POINTER)
        return read & pointer, (*why, (f"{self.given.name} is not a pointer", read & ~pointer))

    # ---- its memory ----

    def _of_objects(self, name: str) -> NDArray[Any]:
        """A column of the objects that it points into; 0 where there is none."""
        values = self.given.facts.objects.table[name]
        return np.append(values, np.zeros(1, values.dtype))[self.given.object]

    @cached_property
    def _addressed(self) -> Bool:
        """Is it an address? Elsewhere it is a handle."""
        return self.given.facts.launches.by_address[self.given.rows] | self.given.flagged("svm")

    @cached_property
    def _offset(self) -> U64:
        inside = self._addressed & (self.given.object >= 0)
        return np.where(inside, self.given.word - self._of_objects("handle"), np.uint64(0))

    @cached_property
    def _whole(self) -> U64:
        return np.where(self._local, self.given.size, np.where(self._null, np.uint64(0), self._of_objects("size")))

    @cached_property
    def _bounded(self) -> tuple[Bool, Why]:
        """Where the end of its memory is known, and why not elsewhere."""
        (read, why), name, found = self._pointers, self.given.name, self.given.object >= 0
        nowhere = read & ~found & ~self._null & ~self._local
        endless = read & found & ((self._of_objects("family") == MAPPED) | np.isin(self._of_objects("kind"), SHAPELESS))
        why = (
            *why,
            (f"{name} does not point into live memory that was recorded", nowhere),
            (f"the end of the memory that {name} points to is not known", endless),
        )
        return read & ~nowhere & ~endless, why

    def _aligned(self, to: Column) -> Column:
        read, why = self._pointers
        handles = read & ~self._addressed & ~self._null
        why = (*why, (f"{self.given.name} is named by a handle, which says nothing of its address", handles))
        rest = arithmetic(ast.Mod(), column(self.given.word, read & ~handles, why), to)
        return Column(np.asarray(rest.values == 0, bool), rest.known, rest.why)
