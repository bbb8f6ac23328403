"""Numbers that a kernel may have been meant to get instead of those that it was passed: candidates for an experiment, no verdicts.

A wrong number is mostly another number of the same program: the same parameter elsewhere, a quotient that was rounded the other way, a
width in place of a pitch, elements in place of bytes, one more or one less.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.kernels import ArgInfo

MOST = 16  # candidates: each costs a run
MOST_LAUNCHES = 50_000
KINDS = {
    "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q",
    "float": "f", "double": "d",
}  # fmt: skip
REAL = "fd"
CHANGES = 2  # values that an argument has in all launches: one that changes with each is computed anew each time
ELEMENTS = (2, 4, 8)  # bytes: what a number in elements is off by where bytes are expected
LARGE = 1 << 28  # a word of a structure beyond that is no count: a float, or a part of something else
WORD = 4  # bytes
LOOKED_AT = 64  # launches of a kernel whose structures are read
WHOLE = -1  # the argument is the number, it is no structure
LITERAL = re.compile(r"(?<![\w.])(?:0[xX][0-9a-fA-F]{1,8}|[1-9]\d{0,8})(?![\w.])")
NAMED, DERIVED, NEXT, SCALED, ANY = range(5)  # how plausible a candidate is


@dataclass(frozen=True)
class Passed:
    """An argument of a kernel that is a number, and one of the values that it was passed."""

    kernel: str
    index: int
    name: str  # "" where nothing says it
    kind: str  # of struct
    bits: int
    compiled: str = ""  # the kernel, as the driver knows it
    at: int = WHOLE  # of a member of a structure: its first byte

    @property
    def value(self) -> float:
        found: float = struct.unpack(self.kind, self.bits.to_bytes(8, "little")[: struct.calcsize(self.kind)])[0]
        return found

    @property
    def label(self) -> str:
        return f"{self.short} of kernel {self.kernel}"

    @property
    def short(self) -> str:
        return f"`{self.name}`" if self.name else f"argument {self.index}{self._member}"

    @property
    def full(self) -> str:
        return f"argument {self.index}{self._member}" + (f" (`{self.name}`)" if self.name else "")

    @property
    def _member(self) -> str:
        return f" at byte {self.at}" if self.at != WHOLE else ""

    @property
    def place(self) -> str:
        """As the recorder is asked for it."""
        return f"{self.index}+{self.at}" if self.at != WHOLE else f"{self.index}"


@dataclass(frozen=True)
class Candidate:
    """`why` says where the other number comes from; `derived`: from numbers of this run that explain both."""

    passed: Passed
    bits: int
    why: str
    rank: int

    @property
    def value(self) -> float:
        return Passed("", 0, "", self.passed.kind, self.bits).value

    @property
    def derived(self) -> bool:
        return self.rank <= DERIVED

    @property
    def wish(self) -> str:
        """As the recorder is asked for it (native/core/what_if.h)."""
        return f"{self.passed.compiled}:{self.passed.place}:{self.passed.bits:x}:{self.bits:x}"


class OtherNumbers:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @property
    def wishes(self) -> tuple[str, ...]:
        return tuple(one.wish for one in self.found)

    @cached_property
    def found(self) -> list[Candidate]:
        """The most plausible ones first; of each argument its best before the second best of another."""
        by_argument = [list(_best(self._of(one))) for one in self.passed]
        ranked = [
            (one.rank, turn, number, one) for number, several in enumerate(by_argument) for turn, one in enumerate(several)
        ]
        return [one for *_, one in sorted(ranked, key=lambda row: row[:3])][:MOST]

    @cached_property
    def passed(self) -> list[Passed]:
        return [one for function in self._functions for one in self._numbers_of(function)]

    @cached_property
    def _functions(self) -> list[int]:
        launches = self._facts.launches
        functions = self._facts.kernels.functions(launches.kernel_row)
        if len(launches) > MOST_LAUNCHES:
            return []
        return list(dict.fromkeys(functions[(functions >= 0) & (launches.status == 0)].tolist()))

    def _numbers_of(self, function: int) -> Iterator[Passed]:
        launches, args = self._facts.launches, self._facts.launches.arguments
        rows = np.flatnonzero((self._facts.kernels.functions(launches.kernel_row) == function) & (launches.status == 0))
        info, mine = launches.info(int(rows[0])), np.isin(args.launch, rows)
        name, compiled = launches.name(int(rows[0])), launches.compiled_name(int(rows[0]))
        for index, declared in sorted((info.args if info else {}).items()):
            kind, at = _kind(declared), np.flatnonzero(mine & (args.index == index))
            values = dict.fromkeys(args.value[at].tolist())
            if kind and len(values) <= CHANGES:
                for bits in values:
                    yield Passed(name, index, declared.name, kind, int(bits), compiled)
        yield from self._members(rows, name, compiled)

    def _members(self, rows: NDArray[np.int64], name: str, compiled: str) -> Iterator[Passed]:
        """Counts in structures that are passed by value. Which of their words are numbers nobody says: no part of an address is one."""
        if not self._facts.launches.by_address[rows[0]]:
            return
        found: dict[tuple[int, int], dict[int, None]] = {}
        for row in map(int, rows[:LOOKED_AT]):
            addresses = self._facts.launches.pointers
            taken = {(int(addresses.index[one]), int(addresses.word[one])) for one in addresses.of(row)}
            for value in self._facts.launches.values(row):
                index, data = int(value["index"]), bytes(value["bytes"])
                for at, word in _words(data) if len(data) > 2 * WORD else ():
                    if (index, at // 8 * 8) not in taken:
                        found.setdefault((index, at), {})[word] = None
        for (index, at), words in found.items():
            if len(words) <= CHANGES and all(0 < word < LARGE for word in words):
                yield from (Passed(name, index, "", "i", word, compiled, at) for word in words)

    def _of(self, passed: Passed) -> Iterator[Candidate]:
        yield from self._same_name(passed)
        if passed.kind in REAL:
            yield from _reals(passed)
        else:
            yield from self._integers(passed)

    def _same_name(self, passed: Passed) -> Iterator[Candidate]:
        for other in self.passed:
            same = other.name and other.name.lower() == passed.name.lower() and other.kind == passed.kind
            if same and other.kernel != passed.kernel:
                yield Candidate(passed, other.bits, f"the value of {other.label}", NAMED)

    def _integers(self, passed: Passed) -> Iterator[Candidate]:
        value = int(passed.value)
        for other, over, by in self._quotients(passed):
            way, back = ("up", "down") if other > value else ("down", "up")
            why = f"{over.short} / {by:,} = {int(over.value):,} / {by:,} rounded {way}; {value:,} is rounded {back}"
            yield from _one(passed, other, why, DERIVED)
        near = [one for one in self.pool if value and 0.5 <= one / value <= 2]
        for number in sorted(near, key=lambda one: abs(math.log(one / value))):
            yield from _one(passed, number, self.pool[number], NEXT)
        yield from _one(passed, value + 1, "one more", NEXT)
        yield from _one(passed, value - 1, "one less", NEXT)
        for factor in ELEMENTS:
            yield from _one(passed, value * factor, f"{value:,} x {factor}", SCALED)
            if value % factor == 0:
                yield from _one(passed, value // factor, f"{value:,} / {factor}", SCALED)
        for number, why in self.pool.items():
            yield from _one(passed, number, why, ANY)

    def _quotients(self, passed: Passed) -> Iterator[tuple[int, Passed, int]]:
        """What the value would be with a quotient rounded the other way: of an argument, and of another or a number in the source."""
        value = int(passed.value)
        mine = [one for one in self.passed if one.kernel == passed.kernel and one.kind not in REAL and one.place != passed.place]
        for over in mine:
            for by in {*(int(one.value) for one in mine), *self._literals[passed.kernel], *self._groups[passed.kernel]}:
                down, rest = divmod(int(over.value), by) if by > 1 else (0, 0)
                if rest and down and value in (down, down + 1):
                    yield 2 * down + 1 - value, over, by

    @cached_property
    def _literals(self) -> dict[str, frozenset[int]]:
        """Integers in the source of each kernel's program."""
        kernels, launches = self._facts.kernels, self._facts.launches
        functions = kernels.functions(launches.kernel_row)
        rows = [int(np.flatnonzero(functions == one)[0]) for one in self._functions]
        infos = {launches.name(row): launches.info(row) for row in rows}
        texts = {name: kernels.source(info.program, info.position) if info else "" for name, info in infos.items()}
        return {name: frozenset(int(one, 0) for one in LITERAL.findall(text)) for name, text in texts.items()}

    @cached_property
    def _groups(self) -> dict[str, frozenset[int]]:
        """The sizes of each kernel's groups."""
        launches = self._facts.launches
        functions = self._facts.kernels.functions(launches.kernel_row)
        rows = [int(np.flatnonzero(functions == one)[0]) for one in self._functions]
        return {launches.name(row): frozenset(map(int, launches.geometry(row)[1])) for row in rows}

    @cached_property
    def pool(self) -> dict[int, str]:
        """Integers of this run, and what they are."""
        found: dict[int, str] = {}
        for one in self.passed:
            if one.kind not in REAL:
                found.setdefault(int(one.value), f"the value of {one.label}")
        for number, text in self._sizes():
            found.setdefault(number, text)
        return {number: text for number, text in found.items() if number > 0}

    def _sizes(self) -> Iterator[tuple[int, str]]:
        launches = self._facts.launches
        functions = self._facts.kernels.functions(launches.kernel_row)
        for function in self._functions:
            row = int(np.flatnonzero(functions == function)[0])
            items, group = launches.geometry(row)
            for sizes, what in ((items, "work-items"), (group, "work-items per group")):
                yield from ((int(one), f"the {what} of kernel {launches.name(row)}") for one in sizes if one > 1)
            for value in launches.values(row):
                declared = value["declared"]
                if value["object"] >= 0 and declared is not None and declared.element:
                    size = int(self._facts.objects.table["size"][value["object"]])
                    name = f"argument `{declared.name}`" if declared.name else f"argument {value['index']}"
                    yield size // declared.element, f"the elements of {name} of kernel {launches.name(row)}"


def _words(data: bytes) -> Iterator[tuple[int, int]]:
    """Words of a structure that are not halves of an address of the host or the device, each with its first byte."""
    for at in range(0, len(data) - WORD + 1, WORD):
        whole = int.from_bytes(data[at // 8 * 8 : at // 8 * 8 + 8], "little")
        if not 1 << 40 <= whole < 1 << 48:
            yield at, int.from_bytes(data[at : at + WORD], "little")


def _kind(declared: ArgInfo) -> str | None:
    kind = KINDS.get(declared.scalar or "") if not declared.is_memory else None
    if kind == "f" and declared.size == struct.calcsize("d"):  # C++ names do not tell the two apart
        kind = "d"
    return kind if kind and declared.size == struct.calcsize(kind) else None


def _best(several: Iterable[Candidate]) -> Iterator[Candidate]:
    """Each other number once, for its best reason."""
    seen = set()
    for one in sorted(several, key=lambda one: one.rank):
        if one.bits not in seen and one.bits != one.passed.bits:
            seen.add(one.bits)
            yield one


def _one(passed: Passed, value: float, why: str, rank: int) -> Iterator[Candidate]:
    """None for a number that the type does not hold, or that makes loops do nothing."""
    if value > 0 or passed.kind in REAL:
        try:
            yield Candidate(passed, int.from_bytes(struct.pack(passed.kind, value), "little"), why, rank)
        except (struct.error, OverflowError):
            return


def _reals(passed: Passed) -> Iterator[Candidate]:
    value = passed.value
    if passed.bits and passed.bits < 1 << 23:  # of a float or double: far below anything that is computed with
        yield from _one(passed, float(passed.bits), f"the integer {passed.bits:,}, whose bits were passed", NAMED)
    if value and math.isfinite(value):
        yield from _one(passed, -value, "the same with the other sign", SCALED)
        yield from _one(passed, 1 / value, f"1 / {value:g}", SCALED)
        yield from _one(passed, value * value, f"the square of {value:g}", ANY)
        if value > 0:
            yield from _one(passed, math.sqrt(value), f"the root of {value:g}", ANY)
