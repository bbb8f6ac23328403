"""The launches of one kernel as rows: its arguments by name, decoded as they are declared, with the memory behind them.

Whatever was not recorded has no value, and says why. Numbers are decoded by the declared type only: four bytes may be a
whole number or not, and a guess would make a contract lie.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.kernels import LOCAL, ArgInfo, KernelInfo
from gpudx.facts.objects import FAMILIES, KINDS, LOWEST_HANDLE
from gpudx.stated.columns import Column, arithmetic, column, unknown
from gpudx.stated.language import ARGUMENT, AXES, nearest

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]
# The types that a name may be given in a file, and what declared scalars are read as.
TYPES = {
    "bool": "<u1", "char": "<i1", "uchar": "<u1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4",
    "long": "<i8", "ulong": "<u8", "half": "<f2", "float": "<f4", "double": "<f8",
}  # fmt: skip
BRAIN = "bfloat16"  # the upper half of a float
MAPPED = FAMILIES.index("mapped")  # the next mapping may go on where this one ends
SHAPELESS = tuple(KINDS.index(kind) for kind in ("image", "pipe"))


@dataclass(frozen=True)
class Argument:
    """An argument by its place, with the type that the user gives it ("": as declared)."""

    index: int
    type: str = ""


@dataclass(frozen=True)
class _Given:
    """What the launches were given for one argument: where it stands in the table of arguments, and where it does."""

    cells: I64
    there: Bool


@dataclass(frozen=True)
class _Memory:
    """What a pointer points into, per launch: a row of objects (-1: nothing that was recorded), and how far in."""

    value: U64
    row: I64
    offset: U64
    null: Bool
    local: Bool  # a size without memory behind it
    size: U64
    read: Bool


class Launches:
    """Launches of one kernel function; `rows` are rows of facts.launches."""

    def __init__(self, facts: Facts, rows: I64, names: Mapping[str, Argument]) -> None:
        self.facts, self.rows, self._names = facts, rows, names
        self.kernel = facts.launches.name(int(rows[0]))
        self.info: KernelInfo | None = facts.launches.info(int(rows[0]))
        self._given: dict[int, _Given] = {}
        self._numbers: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self.rows)

    # ---- names ----

    @cached_property
    def declared(self) -> dict[str, int]:
        """The names that the kernel's own declaration has."""
        args = self.info.args if self.info else {}
        return {arg.name: index for index, arg in args.items() if arg.name}

    def find(self, name: str) -> Argument | str:
        """The argument of this name, or a sentence's part that says why there is none."""
        if name in self._names:
            found = self._names[name]
        elif match := ARGUMENT.fullmatch(name):
            found = Argument(int(match[1]))
        elif name in self.declared:
            found = Argument(self.declared[name])
        else:
            return self._no_such(name)
        count = self.info.num_args if self.info else -1
        if 0 <= count <= found.index:
            return f"kernel {self.kernel} has {count} arguments, arg0 to arg{count - 1}, so {name} is none of them"
        return found

    def _no_such(self, name: str) -> str:
        known = {**self.declared, **self._names}
        if not known:
            return (
                f"the argument names of kernel {self.kernel} are not known: say names = {{ {name} = 0 }} with its place"
            )
        return f"kernel {self.kernel} has no argument {name}{nearest(name, known)} (it has {', '.join(known)})"

    def spelled(self, index: int) -> str:
        """The name that people know an argument by."""
        own = [name for name, argument in self._names.items() if argument.index == index]
        declared = [name for name, place in self.declared.items() if place == index]
        return (*own, *declared, f"arg{index}")[0]

    # ---- what launches were given ----

    def _of(self, index: int) -> _Given:
        if index not in self._given:
            args = self.facts.launches.arguments
            mine = np.flatnonzero(args.index == index)
            at = np.searchsorted(args.launch[mine], self.rows)
            at = np.minimum(at, max(len(mine) - 1, 0))
            there = args.launch[mine[at]] == self.rows if len(mine) else np.zeros(len(self), bool)
            cells = mine[at] if len(mine) else np.zeros(len(self), np.int64)
            self._given[index] = _Given(np.where(there, cells, 0), there)
        return self._given[index]

    def _flagged(self, given: _Given, *flags: str) -> Bool:
        bits = sum(self.facts.trace.schema.argument_flags[name] for name in flags)
        found = (
            self.facts.launches.arguments.flags[given.cells] if given.there.any() else np.zeros(len(self), np.uint16)
        )
        return given.there & ((found & bits) != 0)

    def _word(self, given: _Given) -> U64:
        """The first 8 bytes of each value."""
        if not given.there.any():
            return np.zeros(len(self), np.uint64)
        return np.where(given.there, self.facts.launches.arguments.value[given.cells], np.uint64(0))

    def _size(self, given: _Given) -> U64:
        if not given.there.any():
            return np.zeros(len(self), np.uint64)
        return np.where(given.there, self.facts.launches.arguments.size[given.cells], 0).astype(np.uint64)

    def _declaration(self, index: int) -> ArgInfo | None:
        return self.info.args.get(index) if self.info else None

    # ---- numbers ----

    def number(self, name: str) -> Column:
        if name not in self._numbers:
            word = self._word_of_language(name)
            self._numbers[name] = self._argument(name) if word is None else word
        return self._numbers[name]

    def _word_of_language(self, name: str) -> Column | None:
        every = np.ones(len(self), bool)
        if name == "launch":
            return column(self.rows + 1, every)
        if name == "shared":
            return column(self.facts.launches.shared(self.rows), every)
        return self._queue() if name == "queue" else None

    def _queue(self) -> Column:
        handles, positions = self.facts.launches.queue[self.rows], self.facts.launches.position[self.rows]
        found = self.facts.objects.at(handles, positions)
        numbers = np.append(self.facts.objects.table["number"], 0)[found].astype(np.int64)
        known = (found >= 0) | (handles < np.uint64(LOWEST_HANDLE))
        return column(numbers, known, (("the making of its queue was not recorded", ~known),))

    def _argument(self, name: str) -> Column:
        found = self.find(name)
        if isinstance(found, str):
            return unknown(len(self), found)
        form = self._form(found)
        if form is None:
            return unknown(len(self), self._no_number(name, found))
        return self._decoded(name, self._of(found.index), form)

    def _form(self, argument: Argument) -> str | None:
        """How the bytes of an argument are read, None for what is no number."""
        declared = self._declaration(argument.index)
        if argument.type:
            return argument.type if argument.type == BRAIN else TYPES[argument.type]
        if declared is None:
            return None
        if declared.is_memory:
            return "<u8"
        return _scalar(declared)

    def _no_number(self, name: str, argument: Argument) -> str:
        declared = self._declaration(argument.index)
        if declared and declared.type:
            return f"{name} is a {declared.type}, which is no plain number"
        return f'the type of {name} is not known: say names = {{ {name} = "float arg{argument.index}" }} with its type'

    def _decoded(self, name: str, given: _Given, form: str) -> Column:
        width = 2 if form == BRAIN else np.dtype(form).itemsize
        why, read = self._readable(name, given)
        fits = self._size(given) == np.uint64(width)
        why = (*why, (f"{name} was set with another size than its type has", read & ~fits))
        word = np.ascontiguousarray(self._word(given))
        if form == BRAIN:
            values = ((word & np.uint64(0xFFFF)) << np.uint64(16)).astype("<u4").view("<f4")
        else:
            values = word.view(form).reshape(len(word), -1)[:, 0] if len(word) else word
        return column(values, read & fits, why)

    def _readable(self, name: str, given: _Given) -> tuple[tuple[tuple[str, Bool], ...], Bool]:
        lost = self._flagged(given, "unreadable", "cut")
        why = (
            (f"{name} was never set, or was not recorded", ~given.there),
            (f"{name} could not be read when the launch was made", lost),
        )
        return why, given.there & ~lost

    # ---- shapes ----

    def shape(self, name: str, axis: str) -> Column:
        """Groups, work-items per group, and work-items in all. An axis that was not given has one of each."""
        place, sizes = AXES.index(axis), self.facts.launches.sizes(self.rows)
        given = self.facts.launches.by_address[self.rows]
        first, block = sizes[place], sizes[3 + place]
        absent = ~given & (first == 0) & (place > 0)
        items = np.where(absent, np.uint64(1), block)
        known = items > 0
        why = (("the driver chose the size of its groups", ~known),)
        whole = np.where(absent, np.uint64(1), first)
        if name == "block":
            return column(items, known, why)
        least = np.maximum(items, np.uint64(1))
        groups = np.where(given, whole, whole // least + (whole % least > 0))
        if name == "grid":
            return column(groups, known | given, why)
        return column(np.where(given, whole * items, whole), known | ~given, why)

    # ---- memory ----

    def memory(self, function: str, name: str, operands: list[Column]) -> Column:
        found = self.find(name)
        if isinstance(found, str):
            return unknown(len(self), found)
        declared = self._declaration(found.index)
        if found.type or (declared and declared.type and not (declared.is_memory or declared.space == LOCAL)):
            told = found.type or (declared.type if declared else "")
            return unknown(len(self), f"{name} is a number ({told}), not memory")
        given = self._of(found.index)
        why, read = self._readable(name, given)
        memory = self._points(given, declared, read)
        why = (*why, (f"{name} is no pointer", read & ~memory.read))
        return self._asked(function, name, memory, why, operands)

    def _points(self, given: _Given, declared: ArgInfo | None, read: Bool) -> _Memory:
        facts, value, size = self.facts, self._word(given), self._size(given)
        sized = self._flagged(given, "local")
        local = sized & (declared is None or not declared.is_memory)
        positions = facts.launches.position[self.rows]
        row = np.where(given.there, facts.launches.arguments.object[given.cells] if given.there.any() else -1, -1)
        shared = self._flagged(given, "svm")
        if shared.any():
            held = facts.memory.at(value[shared], positions[shared])
            row[shared] = np.where(facts.memory.live(held, positions[shared]), held, -1)
        begin = np.append(facts.objects.table["handle"], np.uint64(0))[row]
        addressed = (facts.launches.by_address[self.rows] | shared) & (row >= 0)
        offset = np.where(addressed, value - begin, np.uint64(0))
        null = read & (size == np.uint64(8)) & ~local & ((value == 0) | sized)
        pointer = local | (size == np.uint64(8))
        return _Memory(value, row, offset, null, local, size, read & pointer)

    def _asked(
        self, function: str, name: str, memory: _Memory, why: tuple[tuple[str, Bool], ...], operands: list[Column]
    ) -> Column:
        if function == "is_null":
            return column(memory.null, memory.read, why)
        if function == "aligned":
            return self._aligned(name, memory, why, operands[0])
        table = self.facts.objects.table
        at = np.append(table["family"], 0)[memory.row], np.append(table["kind"], 0)[memory.row]
        nowhere = memory.read & (memory.row < 0) & ~memory.null & ~memory.local
        endless = memory.read & (memory.row >= 0) & ((at[0] == MAPPED) | np.isin(at[1], SHAPELESS))
        why = (
            *why,
            (f"{name} does not point into live memory that was recorded", nowhere),
            (f"the end of the memory behind {name} is not known", endless),
        )
        whole = np.append(table["size"], np.uint64(0))[memory.row]
        whole = np.where(memory.local, memory.size, np.where(memory.null, np.uint64(0), whole))
        offset = np.where(memory.null, np.uint64(0), memory.offset)
        told = {"bytes": whole - offset, "size": whole, "offset": offset}[function]
        return column(told, memory.read & ~nowhere & ~endless, why)

    def _aligned(self, name: str, memory: _Memory, why: tuple[tuple[str, Bool], ...], to: Column) -> Column:
        handles = memory.read & ~self.facts.launches.by_address[self.rows] & ~memory.null
        handles &= ~self._addresses(memory)
        why = (*why, (f"{name} is named by a handle, which says nothing of its address", handles))
        rest = arithmetic(ast.Mod(), column(memory.value, memory.read & ~handles, why), to)
        return Column(np.asarray(rest.values == 0, bool), rest.known, rest.why)

    def _addresses(self, memory: _Memory) -> Bool:
        """Which point into memory that programs name by addresses, where others are named by handles?"""
        kinds = np.append(self.facts.objects.table["kind"], 0)[memory.row]
        return (memory.row >= 0) & (kinds == KINDS.index("svm"))

    # ---- for people ----

    def told(self, place: int, index: int) -> str:
        """ "C = memory #6 (1,024 bytes)", "n = 64", of one launch."""
        name, declared = self.spelled(index), self._declaration(index)
        given = self._of(index)
        if not given.there[place]:
            return f"{name} was not recorded"
        row = int(self.facts.launches.arguments.object[given.cells[place]])
        if row >= 0:
            return f"{name} = {self._told_memory(place, row, self._word(given))}"
        number = self.number(name) if self._form(Argument(index)) or name in self._names else None
        if number is not None and number.known[place] and not (declared and declared.is_memory):
            value = number.values[place]
            return f"{name} = {value:,}" if not isinstance(value, float) else f"{name} = {float(value):g}"
        return f"{name} = {int(self._word(given)[place]):#x}"

    def _told_memory(self, place: int, row: int, word: U64) -> str:
        size = int(self.facts.objects.table["size"][row])
        text = f"{self.facts.objects.label(row)} ({size:,} {'byte' if size == 1 else 'bytes'})"
        if not self.facts.launches.by_address[self.rows[place]]:
            return text
        into = self.facts.memory.offset(row, int(word[place]))
        return f"{text} + {into:,}" if into else text

    def object(self, place: int, name: str) -> int:
        """The row of objects that an argument points into in one launch, -1 if none is known."""
        found = self.find(name)
        given = self._of(found.index) if isinstance(found, Argument) else None
        if given is None or not given.there[place]:
            return -1
        return int(self.facts.launches.arguments.object[given.cells[place]])


def _scalar(declared: ArgInfo) -> str | None:
    """How a declared scalar is read. "float" stands for both widths of it in some declarations, "half" for two formats."""
    if declared.scalar not in TYPES:
        return None
    if declared.scalar == "half" and "bfloat" in declared.type.lower():
        return BRAIN
    form = TYPES[
        "double" if declared.scalar == "float" and declared.size == 8 and "double" in declared.type else declared.scalar
    ]
    return form if declared.size in (None, np.dtype(form).itemsize) else None


def launches_like(facts: Facts, pattern: str, names: Mapping[str, Argument]) -> list[Launches]:
    """The launches of each kernel whose name fits a pattern, in the order of the kernels' making."""
    functions = facts.kernels.functions(facts.launches.kernel_row)
    functions = np.where(facts.launches.kernel_row >= 0, functions, -1)
    tables = []
    for function in facts.kernels.like(pattern).tolist():
        rows = np.flatnonzero(functions == function)
        if len(rows):
            tables.append(Launches(facts, rows, names))
    return tables
