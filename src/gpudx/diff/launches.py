"""Launches of two runs, line by line: which belong together, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.diff.align import Aligner, Pairs, settled
from gpudx.diff.found import NOT_THERE, Found
from gpudx.diff.lines import Line
from gpudx.diff.side import Side
from gpudx.facts.codes import mixed
from gpudx.facts.kernels import ArgInfo
from gpudx.model.comparison import Aspect
from gpudx.text import plural

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
MOST_REPLACED = 1000  # launches of another kernel that are told as such
NONE: I64 = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Coded:
    """What each launch of one side is, in one number each; equal numbers on both sides mean equal launches."""

    side: Side
    each: U64  # of each argument
    arguments: U64
    whole: U64


def coded(side: Side, labels: U64) -> Coded:
    each = side.arguments(labels)
    arguments = side.per_launch(each)
    return Coded(side, each, arguments, mixed(len(arguments), [side.kernel, side.geometry, arguments]))


class Matched:
    """The launches of two sides, aligned. `pairs` are rows of Launches."""

    def __init__(
        self, good: Coded, bad: Coded, lines: Sequence[tuple[Line | None, Line | None]], aligner: Aligner
    ) -> None:
        self.good, self.bad = good, bad
        self._replaced: dict[int, int] = {}  # launches without partners that stand in the same place
        parts: list[Pairs] = []
        alone: tuple[list[I64], list[I64]] = ([], [])
        for mine, theirs in lines:
            a, b = (line.rows if line else NONE for line in (mine, theirs))
            pairs = _aligned(good, bad, a, b, aligner)
            parts.append(pairs)
            lone = (_rest(a, pairs[0], _is_cut(bad)), _rest(b, pairs[1], _is_cut(good)))
            for side in (0, 1):
                alone[side].append(lone[side])
            self._replaced |= _in_same_place(pairs, lone)
        left, right = zip(*parts, strict=True) if parts else ((), ())
        self.pairs = (np.concatenate([NONE, *left]), np.concatenate([NONE, *right]))
        self.alone = tuple(np.sort(np.concatenate([NONE, *side])) for side in alone)

    @cached_property
    def geometry(self) -> I64:
        """Pairs whose geometry differs."""
        left, right = self.pairs
        return np.flatnonzero(self.good.side.geometry[left] != self.bad.side.geometry[right])

    @cached_property
    def arguments(self) -> I64:
        left, right = self.pairs
        return np.flatnonzero(self.good.arguments[left] != self.bad.arguments[right])

    @property
    def counts(self) -> dict[str, int]:
        alone = max(map(len, self.alone))
        return {"kernels": alone, "geometry": len(self.geometry), "arguments": len(self.arguments)}

    @property
    def total(self) -> int:
        return sum(map(len, self.alone)) + len(self.geometry) + len(self.arguments)

    def to_good(self, position: int) -> float:
        """Where a call of the bad side falls among the calls of the good side: right behind the last launch before it."""
        mine, theirs = self._landmarks
        place = int(np.searchsorted(theirs, position, side="right")) - 1
        return float(mine[place]) + 0.5 if place >= 0 else -0.5

    @cached_property
    def _landmarks(self) -> Pairs:
        left, right = self.pairs
        mine, theirs = self.good.side.launches.position[left], self.bad.side.launches.position[right]
        order = np.argsort(theirs)
        return np.maximum.accumulate(mine[order]) if len(order) else mine, theirs[order]

    def differences(self, most: int) -> Iterator[Found]:
        """The first `most` of each aspect."""
        yield from self._kernels(most)
        left, right = self.pairs
        for place in _first(self.geometry, left, most):
            yield self._geometry(int(left[place]), int(right[place]))
        for place in _first(self.arguments, left, most):
            yield from self._arguments(int(left[place]), int(right[place]))

    # ---- what differs ----

    def _kernels(self, most: int) -> Iterator[Found]:
        """Launches without a partner; two that stand in the same place are one launch of another kernel."""
        taken = set(self._replaced.values())
        for row in self.alone[0][:most].tolist():
            yield self._kernel(row, self._replaced.get(row))
        new = [row for row in self.alone[1][: most + len(taken)].tolist() if row not in taken]
        for row in new[:most]:
            yield self._kernel(None, row)

    def _kernel(self, row: int | None, other: int | None) -> Found:
        launches = (self.good.side.launches, self.bad.side.launches)
        was = NOT_THERE if row is None else f"kernel {launches[0].name(row)}"
        now = NOT_THERE if other is None else f"kernel {launches[1].name(other)}"
        number = other if row is None else row
        where = f"launch #{(number or 0) + 1}{' of BAD' if row is None else ''}:"
        return self._found("kernels", where, was, now, row, other)

    def _geometry(self, row: int, other: int) -> Found:
        was, now = (_shape(one.side, at) for one, at in ((self.good, row), (self.bad, other)))
        return self._found("geometry", f"{self._launch(row)}: geometry", was, now, row, other)

    def _arguments(self, row: int, other: int) -> Iterator[Found]:
        """Every argument of a pair of launches that differs."""
        mine, theirs = _by_index(self.good, row), _by_index(self.bad, other)
        for index in sorted(mine.keys() | theirs.keys()):
            one, two = mine.get(index), theirs.get(index)
            if one and two and one[0] == two[0]:
                continue
            was = _value(self.good.side, row, one[1]) if one else NOT_THERE
            now = _value(self.bad.side, other, two[1]) if two else NOT_THERE
            if was == now:  # the same words for another allocation, or other bytes of a structure
                was, now = f"{was} of GOOD", _unlike(self.bad.side, two[1] if two else -1)
            declared = _declared(self.good.side, row, index)
            name = f" {declared.name}" if declared and declared.name else ""
            yield self._found("arguments", f"{self._launch(row)}: argument {index}{name}", was, now, row, other)

    def _found(self, aspect: Aspect, where: str, was: str, now: str, row: int | None, other: int | None) -> Found:
        places = zip((self.good, self.bad), (row, other), strict=True)
        good, bad = (None if at is None else int(one.side.launches.position[at]) for one, at in places)
        return Found(aspect, where, was, now, good, bad)

    def _launch(self, row: int) -> str:
        return f"launch #{row + 1} {self.good.side.launches.name(row)}"


def _declared(side: Side, row: int, index: int) -> ArgInfo | None:
    info = side.launches.info(row)
    return info.args.get(index) if info else None


def _aligned(good: Coded, bad: Coded, a: I64, b: I64, aligner: Aligner) -> Pairs:
    pairs = aligner.align(good.whole[a], bad.whole[b])
    pairs = aligner.refine(pairs, good.side.kernel[a], bad.side.kernel[b])
    left, right = settled(pairs, good.whole[a], bad.whole[b])
    left, right = _in_step((left, right), (good.whole[a], bad.whole[b]), (good.side.kernel[a], bad.side.kernel[b]))
    return a[left], b[right]


def _in_step(pairs: Pairs, codes: tuple[U64, U64], kernels: tuple[U64, U64]) -> Pairs:
    """Where swapped arguments make the runs look shifted by a launch, as in k(a,b) k(b,a) and k(b,a) k(a,b), launches are paired place
    by place: none is missing. Such a stretch begins at a launch without a partner, which the other run has elsewhere, and ends at one
    of the other side; between them both run the same kernels."""
    elsewhere = [np.isin(codes[0], codes[1]), np.isin(codes[1], codes[0])]
    open_: list[tuple[int, int, int, bool]] = []  # side, places on both sides, is the launch elsewhere on the other side
    stretches: list[tuple[int, int, int]] = []  # places on both sides, length
    for x, y, side in _lone(pairs, len(codes[0]), len(codes[1])):
        known = bool(elsewhere[side][(x, y)[side]])
        if not open_ or open_[-1][0] == side:
            open_.append((side, x, y, known))
            continue
        _, left, right, first_known = open_.pop()
        size = x - left + (side == 0)
        same = np.array_equal(kernels[0][left : left + size], kernels[1][right : right + size])
        if same and (known or first_known):
            stretches = [one for one in stretches if one[0] < left] + [(left, right, size)]
    for left, right, size in stretches:
        keep = (pairs[0] < left) | (pairs[0] >= left + size)
        places = (np.append(one[keep], np.arange(begin, begin + size)) for one, begin in zip(pairs, (left, right), strict=True))
        mine, theirs = places
        order = np.argsort(mine, kind="stable")
        pairs = (mine[order], theirs[order])
    return pairs


def _lone(pairs: Pairs, m: int, n: int) -> list[tuple[int, int, int]]:
    """The first launches without a partner: how many of each side come before, and which side it is of."""
    rest = [np.setdiff1d(np.arange(size), one)[:MOST_REPLACED] for size, one in zip((m, n), pairs, strict=True)]
    slots = [np.searchsorted(one, alone) for one, alone in zip(pairs, rest, strict=True)]
    both = [(int(slot), side, int(row)) for side in (0, 1) for slot, row in zip(slots[side], rest[side], strict=True)]
    found, seen = [], [0, 0]
    for slot, side, _ in sorted(both):
        found.append((slot + seen[0], slot + seen[1], side))
        seen[side] += 1
    return found


def _is_cut(one: Coded) -> bool:
    return any(gap.kind == "overwritten" for gap in one.side.trace.gaps)


def _rest(rows: I64, paired: I64, cut: bool) -> I64:
    """Launches without a partner. `cut`: the other side has lost its oldest calls, and the partners may be among them."""
    rest = np.setdiff1d(rows, paired)
    return rest[rest > paired[0]] if cut and len(paired) else rest


def _in_same_place(pairs: Pairs, lone: Pairs) -> dict[int, int]:
    """Launches of the good side without a partner, and those of the bad side that stand between the same two pairs."""
    slots = [np.searchsorted(side, rows)[:MOST_REPLACED].tolist() for side, rows in zip(pairs, lone, strict=True)]
    waiting: dict[int, list[int]] = {}
    for slot, row in zip(slots[1], lone[1].tolist(), strict=False):
        waiting.setdefault(slot, []).append(row)
    both = zip(slots[0], lone[0].tolist(), strict=False)
    return {row: waiting[slot].pop(0) for slot, row in both if waiting.get(slot)}


def _first(which: I64, left: I64, most: int) -> list[int]:
    """The earliest ones."""
    return which[np.argsort(left[which], kind="stable")[:most]].tolist()


def _by_index(one: Coded, row: int) -> dict[int, tuple[int, int]]:
    """The code and the place of each argument of a launch."""
    args = one.side.launches.arguments
    first, last = np.searchsorted(args.launch, [row, row + 1])
    return {int(args.index[at]): (int(one.each[at]), at) for at in range(int(first), int(last))}


def _shape(side: Side, row: int) -> str:
    sizes, groups = side.launches.geometry(row)
    shared = int(side.launches.shared(np.array([row]))[0])
    told = ["x".join(str(n) for n in part if n) or "not given" for part in (sizes, groups)]
    return f"{told[0]} in groups of {told[1]}" + (f" with {plural(shared, 'byte')} shared" if shared else "")


def _value(side: Side, row: int, at: int) -> str:
    """An argument in words: memory with its size and the offset, a number, or the size of what is neither."""
    args = side.launches.arguments
    memory, size = int(args.object[at]), int(args.size[at])
    if memory >= 0:
        offset = int(side.offset[at])
        bytes_ = plural(int(side.objects.table["size"][memory]), "byte")
        return f"{side.objects.label(memory)} ({bytes_})" + (f" + {offset:,}" if offset else "")
    if args.flags[at] & side.trace.schema.argument_flags["local"]:
        return f"local memory of {plural(size, 'byte')}"
    if size > 8:
        return f"a structure of {plural(size, 'byte')}"
    return _number(side, row, int(args.index[at]), int(args.value[at]), size)


def _number(side: Side, row: int, index: int, value: int, size: int) -> str:
    declared = _declared(side, row, index)
    data = value.to_bytes(8, "little")[:size]
    kinds = {("float", 4): "<f4", ("double", 8): "<f8", ("half", 2): "<f2"}
    kind = kinds.get((declared.scalar or "", size)) if declared else None
    if kind:
        return f"{np.frombuffer(data, kind)[0]:g}"
    signed = bool(declared and declared.scalar in ("char", "short", "int", "long"))
    return str(int.from_bytes(data, "little", signed=signed))


def _unlike(side: Side, at: int) -> str:
    args = side.launches.arguments
    return "another one" if at >= 0 and int(args.object[at]) >= 0 else "other content"
