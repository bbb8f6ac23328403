"""The launches of one kernel as rows: its arguments by name, decoded as they are declared, with the memory behind them.

Whatever was not recorded has no value, and says why. Numbers are decoded by the declared type only: four bytes may be a
whole number or not, and a guess would make a contract lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts.columns import Column, column, unknown
from gpudx.contracts.given import BRAIN, Given
from gpudx.contracts.language import ARGUMENT, AXES, nearest
from gpudx.contracts.pointees import Pointee
from gpudx.facts import Facts
from gpudx.facts.kernels import LOCAL, ArgInfo, KernelInfo
from gpudx.facts.objects import LOWEST_HANDLE
from gpudx.trace.saturating import times

I64 = NDArray[np.int64]
# The types that a name may be given in a file, and what declared scalars are read as.
TYPES = {
    "bool": "<u1", "char": "<i1", "uchar": "<u1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4",
    "long": "<i8", "ulong": "<u8", "half": "<f2", "float": "<f4", "double": "<f8", BRAIN: BRAIN,
}  # fmt: skip
ONE = np.uint64(1)


@dataclass(frozen=True)
class Argument:
    """An argument by its place, with the type that the user gives it ("": as declared)."""

    index: int
    type: str = ""


class Launches:
    """Launches of one kernel function; `rows` are rows of facts.launches, `names` what the user calls its arguments."""

    def __init__(self, facts: Facts, rows: I64, names: Mapping[str, Argument]) -> None:
        self.facts, self.rows, self._names = facts, rows, names
        self.kernel = facts.launches.name(int(rows[0]))
        self.info: KernelInfo | None = facts.launches.info(int(rows[0]))
        self._given: dict[str, Given] = {}

    def __len__(self) -> int:
        return len(self.rows)

    # ---- names ----

    @cached_property
    def _declared(self) -> dict[str, int]:
        """The names that the kernel's own declaration has."""
        args = self.info.args if self.info else {}
        return {arg.name: index for index, arg in args.items() if arg.name}

    def find(self, name: str) -> Argument | str:
        """The argument of this name, or a sentence's part that says why there is none."""
        if name in self._names:
            found = self._names[name]
        elif match := ARGUMENT.fullmatch(name):
            found = Argument(int(match[1]))
        elif name in self._declared:
            found = Argument(self._declared[name])
        else:
            return self._no_such(name)
        count = self.info.num_args if self.info else -1
        if 0 <= count <= found.index:
            return f"kernel {self.kernel} takes {count} arguments, counted from arg0, so {name} is none of them"
        return found

    def _no_such(self, name: str) -> str:
        known = {**self._declared, **self._names}
        if not known:
            return (
                f"the argument names of kernel {self.kernel} are not known: write names = {{ {name} = 0 }} with its place"
            )
        return f"kernel {self.kernel} has no argument {name}{nearest(name, known)} (it has {', '.join(known)})"

    def called(self, index: int) -> tuple[str, Argument]:
        """The name that people know an argument by, and what it is."""
        own = [(name, argument) for name, argument in self._names.items() if argument.index == index]
        declared = [(name, Argument(place)) for name, place in self._declared.items() if place == index]
        return (*own, *declared, (f"arg{index}", Argument(index)))[0]

    def given(self, name: str, argument: Argument) -> Given:
        if name not in self._given:
            self._given[name] = Given(self.facts, self.rows, argument.index, name)
        return self._given[name]

    def _declaration(self, argument: Argument) -> ArgInfo | None:
        return self.info.args.get(argument.index) if self.info else None

    def is_pointer(self, argument: Argument) -> bool:
        """Is it declared as one, and not called a number by the user?"""
        declared = self._declaration(argument)
        return not argument.type and declared is not None and declared.is_memory

    # ---- numbers ----

    def number(self, name: str) -> Column:
        every = np.ones(len(self), bool)
        if name == "launch":
            return column(self.rows + 1, every)
        if name == "shared":
            return column(self.facts.launches.shared(self.rows), every)
        if name == "queue":
            return self._queue()
        found = self.find(name)
        return unknown(len(self), found) if isinstance(found, str) else self.value(name, found)

    def _queue(self) -> Column:
        handles, positions = self.facts.launches.queue[self.rows], self.facts.launches.position[self.rows]
        found = self.facts.objects.at(handles, positions)
        numbers = np.append(self.facts.objects.table["number"], 0)[found].astype(np.int64)
        known = (found >= 0) | (handles < np.uint64(LOWEST_HANDLE))
        return column(numbers, known, (("the creation of its queue was not recorded", ~known),))

    def value(self, name: str, argument: Argument) -> Column:
        """The values of an argument; of a pointer its address or handle."""
        form = self._form(argument)
        return (
            unknown(len(self), self._no_number(name, argument))
            if form is None
            else self.given(name, argument).number(form)
        )

    def _form(self, argument: Argument) -> str | None:
        """How the bytes of an argument are read, None for what is no number."""
        if argument.type:
            return TYPES[argument.type]
        declared = self._declaration(argument)
        return "<u8" if self.is_pointer(argument) else _scalar(declared) if declared else None

    def _no_number(self, name: str, argument: Argument) -> str:
        declared = self._declaration(argument)
        if declared and declared.type:
            return f"{name} is a {declared.type}, which is not a plain number"
        return f'the type of {name} is not known: write names = {{ {name} = "float arg{argument.index}" }} with its type'

    # ---- shapes and memory ----

    def shape(self, name: str, axis: str) -> Column:
        """Groups, work-items per group, and work-items in all. An axis that was not given has one of each."""
        place, sizes = AXES.index(axis), self.facts.launches.sizes(self.rows)
        grids = self.facts.launches.by_address[self.rows]
        absent = ~grids & (sizes[place] == 0) & (place > 0)
        first, block = (np.where(absent, ONE, sizes[at]) for at in (place, 3 + place))
        known = block > 0
        why = (("the driver chose the size of its groups", ~known),)
        if name == "block":
            return column(block, known, why)
        if name == "threads":
            return column(np.where(grids, times(first, block), first), known | ~grids, why)
        least = np.maximum(block, ONE)
        return column(np.where(grids, first, first // least + (first % least > 0)), known | grids, why)

    def memory(self, function: str, name: str, operands: list[Column]) -> Column:
        found = self.find(name)
        if isinstance(found, str):
            return unknown(len(self), found)
        declared = self._declaration(found)
        memory = declared is None or not declared.type or declared.is_memory or declared.space == LOCAL
        if found.type or not memory:
            told = found.type or (declared.type if declared else "")
            return unknown(len(self), f"{name} is a number ({told}), not memory")
        return Pointee(self.given(name, found), declared).ask(function, operands)


def _scalar(declared: ArgInfo) -> str | None:
    """How a declared scalar is read. "float" stands for both widths of it in some declarations, "half" for two formats."""
    if declared.scalar not in TYPES:
        return None
    if declared.scalar == "half" and "bfloat" in declared.type.lower():
        return BRAIN
    double = declared.scalar == "float" and "double" in declared.type
    form = TYPES["double" if double else declared.scalar]
    return form if declared.size in (None, np.dtype(form).itemsize) else None


def launches_like(facts: Facts, pattern: str, names: Mapping[str, Argument]) -> list[Launches]:
    """The launches of each kernel whose name fits a pattern, in the order of the kernels' making."""
    functions = facts.kernels.functions(facts.launches.kernel_row)
    functions = np.where(facts.launches.kernel_row >= 0, functions, -1)
    found = [np.flatnonzero(functions == function) for function in facts.kernels.like(pattern).tolist()]
    return [Launches(facts, rows, names) for rows in found if len(rows)]
