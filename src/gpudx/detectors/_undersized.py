"""Memory that is smaller than a launch's own numbers call for, as other launches of the same kernel show.

What a kernel does with its memory is not recorded, so no launch is odd by itself: a row of biases, a sum, a table of
indexed values are all smaller than some product of the launch's numbers. What is held against a launch is a product of
its numbers that is the exact size of this argument's memory in other launches of the same kernel, and more than there
is in this one. One of two things must have been seen:

    learnt    in all other launches the product is exact, for different sizes, and no other product explains as much;
              only launches that are short themselves do not count, and there must be twice as many that are not
    by shape  three matrices: in another launch all three are exact as p x q, q x r and p x r; in this launch two are;
              and the third is not short more often than exact

Told of neither: memory that any product of this launch's numbers or shape explains exactly, in values or in bytes; whose
size is the same part of some product in every launch; less than a quarter of what is called for (such memory has another
part to play); and products that a launch which ended well went without. Launches compare only if the numbers outside the
product, switches, nulls and equal pointers are the same. Kernels with structures, or with pointers to whole numbers
beside the argument, may look where nobody sees: they are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.pointer_extent import UNKNOWN, Rooms, rooms_of

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
Factors = tuple[int, ...]  # arguments, or AXES
AXES = (-1, -2, -3)  # work-items in x, y, z: what kernels that are given no number can count with
MOST_FACTORS = 3
MOST_NUMBERS = 8  # of a launch; among the products of more, one that fits by chance is soon found
LEAST_PART = 1 / 4
LEAST_BYTES = 512  # drivers round allocations up: an access this close behind one does not fault
SAME = 1 + 1e-12


@dataclass(frozen=True)
class Short:
    """An argument of a launch (a row of Launches) with less room than its numbers call for. Sizes are in bytes."""

    launch: int
    argument: int
    room: int
    need: int
    element: int
    factors: Factors
    values: tuple[int, ...]
    fitting: int  # launches of this kernel in which the product is exact

    @property
    def missing(self) -> int:
        return self.need - self.room


def shortages(facts: Facts, launches: I64, ended_well: Bool) -> dict[int, tuple[Short, ...]]:
    """The arguments of these launches that are short, by launch. `ended_well` has a value for each row of Launches."""
    found: dict[int, tuple[Short, ...]] = {}
    functions = facts.kernels.functions(facts.launches.kernel_row[launches])
    for function in np.unique(functions[functions >= 0]).tolist():
        table = rooms_of(facts, function)
        if table is not None:
            found |= _of_kernel(table, launches[functions == function], ended_well)
    return found


def object_of(facts: Facts, short: Short) -> int:
    """The row of Objects that the argument points into."""
    return next(int(v["object"]) for v in facts.launches.values(short.launch) if v["index"] == short.argument)


def _of_kernel(table: Rooms, launches: I64, ended_well: Bool) -> dict[int, tuple[Short, ...]]:
    well = np.zeros(len(table.launch), bool)
    well[table.which[(table.which >= 0) & ended_well[table.launches]]] = True
    rows = {launch: table.row_of(launch) for launch in launches.tolist()}
    kinds = {int(table.kind[row]): _Kind(table, int(table.kind[row]), well) for row in set(rows.values()) if row >= 0}
    by_row = {row: kinds[int(table.kind[row])].shortages(row) for row in set(rows.values()) if row >= 0}
    return {n: tuple(replace(s, launch=n) for s in by_row[row]) for n, row in rows.items() if by_row.get(row)}


class _Kind:
    """The different launches of one kernel that compare with each other. `me` is the place of one among them."""

    def __init__(self, table: Rooms, kind: int, well: Bool) -> None:
        self._table = table
        self._rows = np.flatnonzero(table.kind == np.uint64(kind))
        self._well = well[self._rows]
        self._elements = table.parameters.pointers
        self._rooms = {a: room[self._rows] for a, room in table.rooms.items()}
        self._counts: dict[Factors, F64] = {}
        self._known: dict[tuple[int, Factors], bool] = {}

    @cached_property
    def _factors(self) -> dict[int, F64]:
        """What products are made of: numbers above 1, or work-items if the kernel takes no number."""
        columns = {i: n[self._rows] for i, n in self._table.numbers.items()}
        if not columns:
            columns = {axis: self._table.threads[self._rows, n] for n, axis in enumerate(AXES)}
        return {i: column for i, column in columns.items() if (column > 1).any()}

    @cached_property
    def _products(self) -> list[Factors]:
        counts = range(1, MOST_FACTORS + 1)
        return [chosen for count in counts for chosen in combinations(sorted(self._factors), count)]

    @cached_property
    def _shapes(self) -> list[F64]:
        """What memory may be sized by as well: groups and work-items, of each axis and in all."""
        parts = [self._table.groups[self._rows]]
        parts += [self._table.threads[self._rows]] if self._table.numbers else []
        columns = [part[:, axis] for part in parts for axis in range(3)]
        return columns + [np.maximum(part, 1).prod(axis=1) for part in parts]

    def _count(self, factors: Factors) -> F64:
        if factors not in self._counts:
            self._counts[factors] = np.prod([self._factors[i] for i in factors], axis=0)
        return self._counts[factors]

    def _need(self, argument: int, factors: Factors) -> F64:
        return self._count(factors) * self._elements[argument]

    def _exact(self, argument: int, factors: Factors) -> Bool:
        return self._need(argument, factors) == self._rooms[argument]

    def _missed(self, argument: int, factors: Factors) -> Bool:
        room = self._rooms[argument]
        return (room != UNKNOWN) & (self._need(argument, factors) > room)

    # ---- what is short ----

    def shortages(self, row: int) -> list[Short]:
        """The arguments of a launch (a row of Rooms) that are short."""
        if not 0 < len(self._factors) <= MOST_NUMBERS:
            return []
        me = int(np.searchsorted(self._rows, row))
        found = [self._shortage(me, a) for a in self._elements if not self._table.parameters.indexes - {a}]
        return [one for one in found if one]

    def _shortage(self, me: int, argument: int) -> Short | None:
        if self._rooms[argument][me] == UNKNOWN or self._explained(me, argument):
            return None
        called_for = [f for f in self._products if self._lacks(me, argument, f)]
        called_for = [f for f in called_for if not self._counted_in_bytes(me, argument, f)]
        if not called_for or self._in_parts(argument):
            return None
        learnt = [f for f in called_for if self._is_learnt(argument, f) and self._as_usual(me, argument, f)]
        by_shape = [f for f in called_for if f == self._by_shape(me, argument)]
        chosen = min(learnt or by_shape, key=lambda f: (self._count(f)[me], f), default=None)
        return self._short(me, argument, chosen) if chosen else None

    def _short(self, me: int, argument: int, factors: Factors) -> Short:
        exact = self._rows[self._exact(argument, factors)]
        return Short(
            launch=int(self._table.launch[self._rows[me]]),
            argument=argument,
            room=int(self._rooms[argument][me]),
            need=int(self._need(argument, factors)[me]),
            element=self._elements[argument],
            factors=factors,
            values=tuple(int(self._factors[i][me]) for i in factors),
            fitting=int(np.isin(self._table.which, exact).sum()),
        )

    def _explained(self, me: int, argument: int) -> bool:
        """Is the room one value, or exactly one of the launch's counts?"""
        values = float(self._rooms[argument][me]) / self._elements[argument]
        return values == 1 or any(count[me] == values for _, count in self._all_counts)

    def _counted_in_bytes(self, me: int, argument: int, factors: Factors) -> bool:
        """Is the room another count, in bytes? If it is the same, the host forgot the size of a value."""
        room = self._rooms[argument][me]
        return room != self._count(factors)[me] and any(count[me] == room for _, count in self._all_counts)

    def _lacks(self, me: int, argument: int, factors: Factors) -> bool:
        """Is there less than this product calls for, by so much that it matters, and never in a launch that succeeded?"""
        need = float(self._need(argument, factors)[me]) * self._surely(me, factors)
        room = float(self._rooms[argument][me])
        if need - room < LEAST_BYTES or room < need * LEAST_PART:
            return False
        return not (self._well & self._missed(argument, factors)).any()

    def _surely(self, me: int, factors: Factors) -> float:
        """The part of a product that is surely meant: of the last group of an axis one work-item may be all that is."""
        axes = [AXES.index(axis) for axis in factors if axis < 0]
        threads, groups = self._table.threads[self._rows[me], axes], self._table.groups[self._rows[me], axes]
        spare = np.divide(threads, groups, out=np.ones(len(axes)), where=groups > 0) - 1
        return float(np.prod((threads - spare) / threads))

    # ---- how that is known ----

    def _is_learnt(self, argument: int, factors: Factors) -> bool:
        key = (argument, factors)
        if key not in self._known:
            self._known[key] = self._learns(argument, factors)
        return self._known[key]

    def _learns(self, argument: int, factors: Factors) -> bool:
        """Is the product exact for different sizes, wherever it is not missed and twice as often, with no rival?"""
        exact, missed = self._exact(argument, factors), self._missed(argument, factors)
        known = self._rooms[argument] != UNKNOWN
        sizes = self._sizes(argument, exact)
        if sizes < 2 or exact.sum() < 2 * missed.sum() or (known & ~exact & ~missed).any():
            return False
        others = (count for f, count in self._all_counts if f != factors)
        return all(self._sizes(argument, self._tight(argument, count)) < sizes for count in others)

    @cached_property
    def _all_counts(self) -> list[tuple[Factors | None, F64]]:
        """All products, and all that the shape counts, alone and times a number."""
        shaped = [*self._shapes, *(shape * by for shape in self._shapes for by in self._factors.values())]
        return [*((f, self._count(f)) for f in self._products), *((None, count) for count in shaped)]

    def _sizes(self, argument: int, rows: Bool) -> int:
        return len(np.unique(self._rooms[argument][rows]))

    def _tight(self, argument: int, count: F64) -> Bool:
        """If all had needed the same part of this count, and none had been short of it: where would that be exact?"""
        room = self._rooms[argument]
        part = np.divide(room, count, out=np.full(len(room), np.inf), where=(room != UNKNOWN) & (count > 0))
        return np.isfinite(part) & (part <= part.min() * SAME)

    def _in_parts(self, argument: int) -> bool:
        """Is the room of every launch the same part of some count, as of the best four of each row?"""
        known = self._rooms[argument] != UNKNOWN
        if self._sizes(argument, known) < 2:
            return False
        return any((self._tight(argument, count) >= known).all() for _, count in self._all_counts)

    def _as_usual(self, me: int, argument: int, factors: Factors) -> bool:
        return bool((self._exact(argument, factors) & self._alike(me, factors)).any())

    def _alike(self, me: int, factors: Factors) -> Bool:
        """Launches with the same numbers as this one, but for those of the product."""
        same = np.ones(len(self._rows), bool)
        for index in set(self._factors) - {*factors, *AXES}:
            same &= self._factors[index] == self._factors[index][me]
        return same

    def _by_shape(self, me: int, argument: int) -> Factors | None:
        """p x r, where the two other matrices are p x q and q x r, and nothing else is the size of either."""
        sizes = {b: [f for f in self._products if self._exact(b, f)[me]] for b in self._elements if b != argument}
        matrices = {b: fitting for b, fitting in sizes.items() if not fitting or len(fitting[0]) > 1}  # others: a bias
        if len(matrices) != 2 or any(len(fitting) != 1 or len(fitting[0]) != 2 for fitting in matrices.values()):
            return None
        (a, (first,)), (b, (second,)) = matrices.items()
        third = tuple(sorted({*first} ^ {*second}))
        if (
            len(third) != 2
            or not self._table.numbers
            or self._exact(argument, third).sum() < self._missed(argument, third).sum()
        ):
            return None
        whole = self._exact(a, first) & self._exact(b, second) & self._exact(argument, third)
        return third if (whole & self._alike(me, (*first, *second))).any() else None
