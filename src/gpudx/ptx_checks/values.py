"""What registers of a kernel hold, read from its PTX, as far as one statement sets each: parameters, global ids, whole numbers.

Compilers write each value into a register of its own; those of loops are set more than once, and nothing is said of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gpudx.ptx_checks.parameters import MOST_LINES, POINTER, body_of
from gpudx.ptx_checks.statements import REGISTER, Statement, statement_of, without_comment

NUMBER = re.compile(r"-?\d+|0[fd][0-9A-Fa-f]+")
SPECIAL = re.compile(r"%(ctaid|ntid|tid)\.([xyz])")
ADDRESS = re.compile(r"\[(%[\w$]+)(?:\+(-?\d+))?\]")
WIDENING = ("u64", "s64", "b64", "u32", "s32", "b32")
DEEPEST = 12
LOADED = -1
SETS_NOTHING = ("st", "red", "bra", "bar", "ret", "exit")


@dataclass(frozen=True)
class Access:
    """`parameter`: whose memory; `axis`: at the thread's own global id there, times `step` bytes, from `begin` on. None: not known; `bases`
    are the parameters that the address may begin with, and LOADED what was loaded from memory."""

    parameter: int | None
    axis: str | None
    step: int
    begin: int
    width: int
    bases: frozenset[int]

    @property
    def is_own(self) -> bool:
        """Is it inside the element at the thread's own id, in one dimension?"""
        return self.parameter is not None and self.axis == "x" and self.begin >= 0 and self.begin + self.width <= self.step


@dataclass(frozen=True)
class Sample:
    """Of a texture that a parameter names, at these coordinates (registers) of floating point."""

    parameter: int | None
    coordinates: tuple[str, ...]


class Values:
    """Of one kernel; everything is empty where it is not there or too long."""

    def __init__(self, text: str, symbol: str) -> None:
        self._any_parameter = re.compile(rf"\b{re.escape(symbol)}_param_(\d+)\b")
        self._parameter = re.compile(rf"\[{re.escape(symbol)}_param_(\d+)(?:\+0)?\]")
        lines = [without_comment(line).strip() for line in body_of(text, symbol).split("\n")]
        bare = [line for line in lines if line and not line.startswith(".") and not line.endswith(":")]
        parsed = [statement_of(line) for line in bare]
        self.is_known = bool(bare) and len(bare) <= MOST_LINES and all(one is not None and one.op != "call" for one in parsed)
        self._statements = [one for one in parsed if one is not None] if self.is_known else []

    @cached_property
    def _set_by(self) -> dict[str, Statement | None]:
        """None for a register that is set more than once, or in some threads only."""
        found: dict[str, Statement | None] = {}
        for one in self._statements:
            for register in _targets(one):
                found[register] = None if register in found or one.when else one
        return found

    @cached_property
    def _bases(self) -> dict[str, frozenset[int]]:
        """What each register may be computed from, wherever it is set: parameters, and LOADED for numbers of 64 bits from memory."""
        found: dict[str, frozenset[int]] = {}
        changed = True
        while changed:
            changed = False
            for one in self._statements:
                mine = self._bases_of(one, found)
                for register in _targets(one):
                    if not mine <= found.get(register, frozenset()):
                        found[register], changed = found.get(register, frozenset()) | mine, True
        return found

    def _bases_of(self, one: Statement, known: Mapping[str, frozenset[int]]) -> frozenset[int]:
        if one.op in ("ld", "ldu", "atom") and "param" not in one.parts:
            return frozenset((LOADED,)) if one.step == POINTER else frozenset()
        if one.op == "ld":
            return frozenset(int(number) for number in self._any_parameter.findall(one.rest))
        return frozenset().union(*(known.get(name, frozenset()) for name in REGISTER.findall(one.rest.partition(",")[2])))

    def _operands(self, one: Statement) -> list[str]:
        return [part.strip() for part in one.rest.split(",")][1:]

    def _source(self, register: str) -> Statement | None:
        """What sets it, past copies, conversions of the address space and wider forms of the same integer."""
        one = self._set_by.get(register)
        for _ in range(DEEPEST):
            if one is None:
                return None
            copies = one.op in ("mov", "cvta") or (one.op == "cvt" and set(one.parts) <= set(WIDENING))
            inner = self._operands(one)[-1] if copies and self._operands(one) else ""
            if not copies or not REGISTER.fullmatch(inner) or SPECIAL.fullmatch(inner):
                return one
            one = self._set_by.get(inner)
        return None

    def parameter(self, register: str) -> int | None:
        """The parameter that it holds."""
        one = self._source(register)
        found = self._parameter.search(one.rest) if one is not None and one.op == "ld" and "param" in one.parts else None
        return int(found[1]) if found else None

    def axis(self, register: str) -> str | None:
        """The axis of which it is the thread's global id: block * threads of a block + thread."""
        one = self._source(register)
        if one is None:
            return None
        names = [self._special(part) for part in self._operands(one)]
        if one.op == "mad" and "lo" in one.parts and len(names) == 3:
            product, rest = names[:2], names[2]
        elif one.op == "add" and len(names) == 2:
            inner = [self._source(part) for part in self._operands(one)]
            at = next((n for n, each in enumerate(inner) if each is not None and each.op == "mul" and "lo" in each.parts), None)
            if at is None:
                return None
            made = inner[at]
            assert made is not None
            product, rest = [self._special(part) for part in self._operands(made)], names[1 - at]
        else:
            return None
        axis = rest[1] if rest and rest[0] == "tid" else ""
        return axis if axis and sorted(filter(None, product)) == [("ctaid", axis), ("ntid", axis)] else None

    def _special(self, operand: str) -> tuple[str, str] | None:
        one = self._source(operand) if REGISTER.fullmatch(operand) else None
        found = SPECIAL.fullmatch(self._operands(one)[0]) if one is not None and one.op == "mov" else None
        return (found[1], found[2]) if found else None

    def whole(self, register: str, depth: int = 0) -> str | None:
        """The integer register that a number of floating point is made from, with nothing but constants added; None for other numbers."""
        one = self._source(register)
        if one is None or depth > DEEPEST:
            return None
        operands = self._operands(one)
        if one.op == "cvt" and one.parts[-2:-1] in (("f32",), ("f64",)) and one.parts[-1][0] in "su":
            return operands[0] if REGISTER.fullmatch(operands[0]) else None
        if one.op in ("add", "sub") and len(operands) == 2:
            registers = [part for part in operands if REGISTER.fullmatch(part)]
            constant = any(NUMBER.fullmatch(part) for part in operands)
            return self.whole(registers[0], depth + 1) if len(registers) == 1 and constant else None
        return None

    def ratio(self, register: str) -> tuple[str, str] | None:
        """The two integer registers whose quotient it is, each with constants added."""
        one = self._source(register)
        operands = self._operands(one) if one is not None and one.op == "div" and "f32" in one.parts else []
        parts = [self.whole(part) for part in operands if REGISTER.fullmatch(part)]
        return (parts[0], parts[1]) if len(parts) == 2 and parts[0] and parts[1] else None

    # ---- what it accesses ----

    def accesses(self) -> Iterator[Access]:
        """All of memory that is not the kernel's own."""
        for one in self._statements:
            if one.op in ("ld", "st", "atom", "red", "ldu") and not {"param", "shared", "local", "const"} & set(one.parts):
                yield self._access(one)

    def _access(self, one: Statement) -> Access:
        found = ADDRESS.search(one.rest)
        bases = self._bases.get(found[1], frozenset()) if found is not None else frozenset((LOADED,))
        unknown = Access(None, None, 0, 0, one.width, bases)
        if found is None:
            return unknown
        begin = int(found[2] or 0)
        if (alone := self.parameter(found[1])) is not None:
            return Access(alone, None, 0, begin, one.width, bases)
        made = self._source(found[1])
        operands = self._operands(made) if made is not None and made.op == "add" else []
        for base, offset in (operands, operands[::-1]) if len(operands) == 2 else ():
            if (parameter := self.parameter(base)) is not None:
                axis, step = self._scaled(offset)
                return Access(parameter, axis, step, begin, one.width, bases)
        return unknown

    @cached_property
    def strides(self) -> dict[int, int]:
        """Parameters whose memory each thread uses at its own global id only, and the bytes from one thread's to the next one's; none where
        an address comes from memory alone."""
        every = list(self.accesses())
        if any(one.bases == {LOADED} for one in every):
            return {}
        others = frozenset().union(*(one.bases for one in every if not one.is_own))
        found: dict[int, set[int]] = {}
        for one in every:
            if one.is_own and one.parameter is not None:
                found.setdefault(one.parameter, set()).add(one.step)
        return {parameter: steps.pop() for parameter, steps in found.items() if len(steps) == 1 and parameter not in others}

    def _scaled(self, register: str) -> tuple[str | None, int]:
        """A global id times a number."""
        one = self._source(register)
        operands = self._operands(one) if one is not None else []
        if one is None or len(operands) != 2 or not operands[1].isdigit():
            return None, 0
        if one.op == "mul" and "wide" in one.parts:
            return self.axis(operands[0]), int(operands[1])
        return (self.axis(operands[0]), 1 << int(operands[1])) if one.op == "shl" else (None, 0)

    def samples(self) -> Iterator[Sample]:
        """Of textures, by floating-point coordinates."""
        for one in self._statements:
            found = re.search(r"\[(%[\w$]+),\s*\{?([^}\]]*)\}?", one.rest) if one.op == "tex" and one.parts[-1] == "f32" else None
            if found is not None:
                coordinates = REGISTER.findall(found[2])[one.parts[0].startswith("a") :]  # the layer of an array comes first
                yield Sample(self.parameter(found[1]), tuple(coordinates[: int(one.parts[0].strip("ad") or 0)]))


def _targets(one: Statement) -> list[str]:
    """The registers that a statement sets."""
    if one.op in SETS_NOTHING:
        return []
    in_braces = one.rest.startswith("{") and "}" in one.rest
    return REGISTER.findall(one.rest[: one.rest.index("}") + 1] if in_braces else one.rest.partition(",")[0])
