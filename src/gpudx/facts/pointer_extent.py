"""How much memory lies behind each pointer that the launches of a kernel were given, beside their numbers and shapes.

A room is the bytes from a pointer to the end of the live allocation that it points into. Launches that were given the
same numbers, shape and rooms are one row here: programs repeat few different launches many times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.codes import mixed
from gpudx.facts.kernels import LOCAL, ArgInfo, KernelInfo
from gpudx.facts.objects import FAMILIES

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
F64 = NDArray[np.float64]
WIDTHS = {"short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8}
FLOATS = ("half", "float", "double")
BYTES = ("bool", "char", "uchar")
INDEX = re.compile(r"\b(u?int|u?long|u?longlong|size_t|unsigned(?! char| short))\d*\b")
MAPPED = FAMILIES.index("mapped")  # the next mapping may go on where this one ends: no room is known
MOST_ROWS = 1 << 16  # different launches of one kernel that are kept, the newest
UNKNOWN = -1.0


@dataclass(frozen=True)
class Parameters:
    """A kernel's parameters by place, if each of them is understood."""

    pointers: dict[int, int]  # bytes of what each points to
    numbers: dict[int, ArgInfo]
    switches: tuple[int, ...]  # of one byte: they say how, not how much
    indexes: frozenset[int]  # pointers to whole numbers, which may say where in other memory to look

    @property
    def count(self) -> int:
        return max((*self.pointers, *self.numbers, *self.switches), default=-1) + 1


@dataclass(frozen=True)
class Rooms:
    """The different launches of one kernel function, oldest first; one row each.

    launch   the newest launch that this row stands for
    which    the row of each launch in `launches`, -1 for those left out
    numbers  by argument
    threads  work-items per axis
    groups   groups of them per axis, 0 where the API was not told
    rooms    by pointer argument: bytes up to the end of its memory, UNKNOWN where that is not known
    kind     launches of other kinds (a switch, a null, zero, one or negative number, two equal pointers) do not compare
    """

    parameters: Parameters
    launches: I64
    which: I64
    launch: I64
    numbers: dict[int, F64]
    threads: F64
    groups: F64
    rooms: dict[int, F64]
    kind: U64

    def row_of(self, launch: int) -> int:
        """The row that stands for a launch, -1 if none does."""
        at = int(np.searchsorted(self.launches, launch))
        return int(self.which[at]) if at < len(self.launches) and int(self.launches[at]) == launch else -1


def parameters_of(info: KernelInfo | None) -> Parameters | None:
    """None for kernels with a parameter that may hold sizes or pointers which nobody sees: structures, unknown types."""
    if info is None or not info.args or sorted(info.args) != list(range(len(info.args))):
        return None
    pointers: dict[int, int] = {}
    numbers: dict[int, ArgInfo] = {}
    switches = []
    for index, arg in sorted(info.args.items()):
        if arg.is_memory and arg.element:
            pointers[index] = arg.element
        elif arg.scalar in WIDTHS and arg.size == WIDTHS[arg.scalar]:
            numbers[index] = arg
        elif arg.scalar in BYTES and arg.size == 1:
            switches.append(index)
        elif arg.scalar not in FLOATS and arg.space != LOCAL:
            return None
    indexes = frozenset(i for i in pointers if INDEX.search(info.args[i].type) or "**" in info.args[i].type)
    return Parameters(pointers, numbers, tuple(switches), indexes)


def rooms_of(facts: Facts, function: int) -> Rooms | None:
    """The launches of one function (a number from Kernels.functions) that were recorded with all of their arguments."""
    known = parameters_of(facts.kernels.of_functions[function])
    if known is None or not known.pointers:
        return None
    launches = np.flatnonzero(facts.kernels.functions(facts.launches.kernel_row) == function)
    launches = launches[facts.launches.kernel_row[launches] >= 0]
    launches, cells = _cells(facts, launches, known.count)
    if not len(launches):
        return None
    numbers = {i: _numbers(facts, cells[:, i], arg) for i, arg in known.numbers.items()}
    rooms = {i: _rooms(facts, launches, cells[:, i]) for i in known.pointers}
    threads, groups = _shapes(facts, launches)
    kind = _kinds(facts, known, numbers, cells)
    columns = [
        np.ascontiguousarray(c).view(np.uint64) for c in (*numbers.values(), *rooms.values(), *threads.T, *groups.T)
    ]
    newest, which = _different([kind, *columns])
    return Rooms(
        known,
        launches,
        which,
        launches[newest],
        {i: n[newest] for i, n in numbers.items()},
        threads[newest],
        groups[newest],
        {i: r[newest] for i, r in rooms.items()},
        kind[newest],
    )


def _cells(facts: Facts, launches: I64, count: int) -> tuple[I64, I64]:
    """Launches that have all of their arguments, and where each of them stands in Launches.arguments."""
    args = facts.launches.arguments
    first = np.searchsorted(args.launch, launches)
    cells = first[:, None] + np.arange(count)
    inside = cells[:, -1] < len(args.launch)
    launches, cells = launches[inside], cells[inside]
    mine = (args.index[cells] == np.arange(count)) & (args.launch[cells] == launches[:, None])
    read = (args.flags[cells] & facts.trace.schema.argument_flags["unreadable"]) == 0
    whole = (mine & read).all(axis=1)
    return launches[whole], cells[whole]


def _numbers(facts: Facts, cells: I64, arg: ArgInfo) -> F64:
    """The values of a whole number. Beyond 2^53 they are not exact, and no room is that large."""
    size, value = WIDTHS[arg.scalar or ""], facts.launches.arguments.value[cells]
    signed = arg.scalar in ("short", "int", "long")
    kind = f"<{'i' if signed else 'u'}{size}"
    low = np.ascontiguousarray(value).view(kind).reshape(len(value), -1)[:, 0]
    return low.astype(np.float64)


def _rooms(facts: Facts, launches: I64, cells: I64) -> F64:
    args, table = facts.launches.arguments, facts.objects.table
    rows = args.object[cells]
    size, begin = table["size"][rows].astype(np.float64), table["handle"][rows]
    offset = np.where(facts.launches.by_address[launches], args.value[cells] - begin, np.uint64(0))
    known = (rows >= 0) & (table["family"][rows] != MAPPED)
    return np.where(known, size - offset.astype(np.float64), UNKNOWN)


def _shapes(facts: Facts, launches: I64) -> tuple[F64, F64]:
    """Work-items and groups, per axis. An axis that was not given has one work-item."""
    columns = np.stack(facts.launches.sizes(launches), axis=1).astype(np.float64)
    first, block = columns[:, :3], columns[:, 3:]
    given = facts.launches.by_address[launches][:, None]
    groups = np.ceil(np.divide(first, block, out=np.zeros_like(first), where=block > 0))
    return np.maximum(np.where(given, first * block, first), 1), np.where(given, first, groups)


def _kinds(facts: Facts, known: Parameters, numbers: dict[int, F64], cells: I64) -> U64:
    """A code for all that may change what a kernel does with its memory, other than how much of it."""
    value = facts.launches.arguments.value
    pointers = [value[cells[:, i]] for i in known.pointers]
    columns = [(np.clip(n, -1, 2) + 1).astype(np.uint64) for n in numbers.values()]
    columns += [value[cells[:, i]] & np.uint64(0xFF) for i in known.switches]
    columns += [(p == 0).astype(np.uint64) for p in pointers]
    columns += [(a == b).astype(np.uint64) for n, a in enumerate(pointers) for b in pointers[:n]]
    return mixed(len(cells), columns)


def _different(columns: list[U64]) -> tuple[I64, I64]:
    """The last of each different row, oldest first, and the number of each row's like among them."""
    codes = mixed(len(columns[0]), columns)
    _, back, inverse = np.unique(codes[::-1], return_index=True, return_inverse=True)
    last = len(codes) - 1 - back
    order = np.argsort(last)[-MOST_ROWS:]
    place = np.full(len(last), -1, np.int64)
    place[order] = np.arange(len(order))
    return last[order], place[inverse.reshape(-1)][::-1]
