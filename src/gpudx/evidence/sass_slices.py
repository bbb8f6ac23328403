"""NVIDIA machine code as nvdisasm prints it (sm_70 to sm_120), for backward slices.

What the instructions do is described in "CUDA Binary Utilities" (instruction set reference) only by name; the operands' order was read off
what nvcc 13.0 makes of small kernels for sm_75, 80, 86, 89, 90, 100 and 120, and the tests compile such kernels again. Where
the parameters begin in constant bank 0 the cubin says; extents of the launch stand in front of them:

    sm_70 to sm_90      c[0x0][0x0], 0x4, 0x8 threads per block; 0xc, 0x10, 0x14 blocks
    sm_100 and later    c[0x0][0x360], 0x364, 0x368 threads per block; 0x370, 0x374, 0x378 blocks
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpudx.evidence.slices import UNSET, Listing, Read
from gpudx.evidence.sums import Choice, Index, Load, Lost, Made, Param, Sum

LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P[T\d]+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;", re.M)
REGISTER = re.compile(r"^(U?R)(\d+|Z)$")
PREDICATE = re.compile(r"^!?U?P(\d+|T)$")
CONSTANT = re.compile(r"^c\[0x([0-9a-f]+)\]\s*\[(.*)\]$")
NUMBER = re.compile(r"^-?0x[0-9a-f]+$|^-?\d+$")
MODIFIERS = re.compile(r"\.(reuse|64|U32|S32|H0_H0|X\d+)\b")
SPECIAL = re.compile(r"^SR_(CTAID|TID|NTID|NCTAID)\.([XYZ])$")
INDEXES = {"CTAID": "blockIdx", "TID": "threadIdx", "NTID": "blockDim", "NCTAID": "gridDim"}
EXTENTS = {0: (0, 0xC), 100: (0x360, 0x370)}  # from this architecture on: where blockDim and gridDim are

LOADS = {"LDG": "global", "LD": "global", "LDS": "shared", "LDL": "local"}
STORES = ("STG", "ST", "STS", "STL", "RED", "REDG", "REDS")
ATOMICS = ("ATOMG", "ATOM", "ATOMS")
ACCESSES = (*LOADS, *STORES, *ATOMICS, "LDGSTS")
CONSTANT_LOADS = ("LDC", "ULDC", "LDCU")
ONLY_PREDICATES = ("SETP", "PLOP3", "FCHK", "R2P", "BMOV", "BSSY", "BSYNC", "BREAK")
MOVES = ("MOV", "UMOV", "R2UR", "MOV32I", "UMOV32I")
SUMS = ("IADD3", "IADD", "IADD32I", "VIADD", "UIADD3", "UIADD", "UVIADD")
PRODUCTS = ("IMAD", "UIMAD")
SCALED = ("LEA", "ULEA")
WIDE = ("DADD", "DMUL", "DFMA", "CS2R", "I2F.F64", "F2F.F64", "MUFU.RCP64H")
MATRIX = (
    "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "LDSM", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "LDTM", "TEX", "TLD", "TLD4", "TXQ",
    "SULD",
)  # fmt: skip
MOST_RESULTS = 128  # registers that a matrix instruction may write
TABLES = {0xC0: "and", 0xFC: "or", 0x3C: "xor"}  # of LOP3: for the first two operands, where the third is zero
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "96": 12}


@dataclass(frozen=True)
class Instruction:
    pc: int
    guard: str  # "@!P0", "" where it always runs
    name: str  # with its suffixes
    operands: tuple[str, ...]

    @property
    def base(self) -> str:
        return self.name.split(".")[0]

    @cached_property
    def suffixes(self) -> tuple[str, ...]:
        return tuple(self.name.split(".")[1:])

    @property
    def size(self) -> int:
        """Bytes that a load or store moves."""
        return next((SIZES[one] for one in self.suffixes if one in SIZES), 4)

    @property
    def kind(self) -> str:
        """ "read", "write" or "atomic", "" for what accesses no memory."""
        if self.base in (*ATOMICS, "RED", "REDG", "REDS"):
            return "atomic"
        return "write" if self.base in STORES else "read" if self.base in ACCESSES else ""

    @property
    def memory(self) -> str | None:
        """The operand with the address, where there is one."""
        found = [one for one in self.operands if "[" in one and not one.startswith("c[")]
        return found[-1] if found and self.base in ACCESSES else None

    @cached_property
    def target(self) -> int | None:
        """Where a branch, call or meeting point leads."""
        last = self.operands[-1] if self.operands else ""
        return int(last, 16) if last.startswith("0x") else None

    @cached_property
    def results(self) -> range:
        """The numbers of the registers that it writes; of the kind that `result` names."""
        found = REGISTER.match(self.result)
        if found is None or found[2] == "Z":
            return range(0)
        return range(int(found[2]), int(found[2]) + self._width)

    @cached_property
    def result(self) -> str:
        """The first register that it writes, "" for none."""
        if self.base in STORES or any(word in self.base for word in ONLY_PREDICATES) or not self.operands:
            return ""
        first = next((one for one in self.operands if not PREDICATE.match(one)), "")
        return first if REGISTER.match(first) else ""

    @property
    def _width(self) -> int:
        if self.base in MATRIX:
            return MOST_RESULTS
        if self.base in (*LOADS, *CONSTANT_LOADS, *ATOMICS):
            return max(1, -(-self.size // 4)) if self.base not in ATOMICS else 4
        wide = "WIDE" in self.suffixes or "64" in self.suffixes or {"S64", "U64", "F64"} & set(self.suffixes)
        return 2 if wide or (self.base in ("CS2R",) and "32" not in self.suffixes) or self.name.startswith(WIDE) else 1


def parse(text: str) -> list[Instruction]:
    """The instructions of a listing, in order."""
    found = []
    for at, guard, name, rest in LINE.findall(text):
        operands = tuple(part.strip() for part in re.split(r",(?![^\[]*\])", rest)) if rest.strip() else ()
        found.append(Instruction(int(at, 16), guard if guard not in ("@PT", "@UPT") else "", name, operands))
    return found


class Sass(Listing[Instruction]):
    """The code of one function, for a Slicer. `parameters` is where they begin in constant bank 0."""

    def __init__(self, code: Sequence[Instruction], architecture: int, parameters: int) -> None:
        self.code = code
        self.parameters = parameters
        self.extents = EXTENTS[100 if architecture >= 100 else 0]
        self.at = {one.pc: number for number, one in enumerate(code)}

    # ---- paths ----

    def after(self, number: int) -> Iterable[int]:
        one = self.code[number]
        following = [number + 1] if number + 1 < len(self.code) else []
        conditional = bool(one.guard) or any(PREDICATE.match(operand) for operand in one.operands)
        if one.base in ("EXIT", "RET", "KILL"):
            return following if conditional else []
        if one.base in ("BRA", "JMP", "CALL"):
            to = [self.at[one.target]] if one.target in self.at else []
            return [*to, *following] if conditional or one.base == "CALL" or len(one.operands) > 1 else to
        if one.base in ("BRX", "BRXU", "JMX"):
            return []
        if one.base == "BSYNC" and one.operands:
            points = self._meeting.get(one.operands[-1], [])
            return following if number + 1 in points or not points else points
        return following

    @cached_property
    def _meeting(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for one in self.code:
            if one.base == "BSSY" and one.target in self.at:
                found.setdefault(one.operands[0], []).append(self.at[one.target])
        return found

    # ---- registers ----

    def writes(self, number: int, register: str) -> bool:
        one = self.code[number]
        if one.base == "CALL":
            return register in self._called(number) or "*" in self._called(number)
        return bool(one.result) and register in _names(one)

    def _called(self, number: int) -> frozenset[str]:
        """The registers that a called function writes; "*" where it is not in this code."""
        if number not in self._calls:
            self._calls[number] = self._written(self.code[number].target)
        return self._calls[number]

    @cached_property
    def _calls(self) -> dict[int, frozenset[str]]:
        return {}

    def _written(self, target: int | None) -> frozenset[str]:
        if target not in self.at:
            return frozenset("*")
        found: set[str] = set()
        seen: set[int] = set()
        todo = [self.at[target]]
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            one = self.code[number]
            if one.base in ("BRX", "BRXU", "JMX") or (one.base == "CALL" and one.target not in self.at):
                return frozenset("*")
            found |= set(_names(one))
            todo += self.after(number)
        return frozenset(found)

    def conditional(self, number: int) -> bool:
        return bool(self.code[number].guard) and self.code[number].base != "CALL"

    def initial(self, register: str) -> Sum:
        return Sum.atom(Lost(0, register, UNSET))

    # ---- values ----

    def result(self, number: int, register: str, read: Read) -> Sum:
        one = self.code[number]
        lost = Sum.atom(Lost(one.pc, register, f"is made by {one.name}"))
        found = REGISTER.match(register)
        if one.base == "CALL" or found is None:
            return Sum.atom(Lost(one.pc, register, "is set by a function that is called"))
        place = int(found[2]) - one.results.start
        if one.base in LOADS:
            return self._loaded(one, place, read)
        if one.base in CONSTANT_LOADS:
            return self._constant(one.operands[-1], one.size, 4 * place, read, one) or lost
        if place == 1 and one.base in (*MOVES, "CS2R") and "64" in one.suffixes:
            return self._upper(one, read) or lost
        if place:
            return lost
        return self._computed(one, read) or lost

    def _loaded(self, one: Instruction, place: int, read: Read) -> Sum:
        return Sum.atom(Load(one.pc, LOADS[one.base], one.size, self.address(one, read), 4 * place))

    def _upper(self, one: Instruction, read: Read) -> Sum | None:
        """The upper half of what a 64-bit move copies."""
        found = REGISTER.match(MODIFIERS.sub("", one.operands[-1]))
        if found is None:
            return Sum() if one.operands[-1] in ("SRZ", "RZ", "URZ") else None
        return Sum() if found[2] == "Z" else read(f"{found[1]}{int(found[2]) + 1}")

    def _computed(self, one: Instruction, read: Read) -> Sum | None:
        """The lower 32 bits of the result; None for what is no sum."""
        base, suffixes = one.base, set(one.suffixes)
        if base in ("S2R", "S2UR", "CS2R"):
            return _special(one.operands[-1])
        if base in ("HFMA2", "HADD2", "HFMA2_MMA"):
            return _halves(one)
        given = [self._operand(text, read, one) for text in self._sources(one)]
        if any(value is None for value in given):
            return None
        values = [value for value in given if value is not None]
        if base in MOVES and values:
            return values[0]
        if suffixes & {"X", "HI"} and base not in ("SHF", "USHF"):
            return None
        if base in SUMS and values:
            return sum(values[1:3], values[0])
        if base in PRODUCTS and len(values) >= 3 and "HI" not in suffixes:
            return values[0] * values[1] + values[2] if (values[0] * values[1]).simple else None
        if base in SCALED and len(values) >= 3:
            places = values[-1].constant
            return None if places is None else values[0].times(1 << (places & 31)) + values[1]
        return self._shifted(one, values) or self._chosen(one, values)

    def _sources(self, one: Instruction) -> list[str]:
        """The operands that are no results and no predicates."""
        rest = list(one.operands)
        rest = rest[rest.index(one.result) + 1 :]
        return [text for text in rest if not PREDICATE.match(text)]

    def _shifted(self, one: Instruction, values: Sequence[Sum]) -> Sum | None:
        if one.base not in ("SHF", "USHF", "SHL", "SHR") or len(values) < 2 or "U64" in one.suffixes or "S64" in one.suffixes:
            return None
        places = values[1].constant
        left = one.base == "SHL" or "L" in one.suffixes
        if left and not {"HI", "W"} & set(one.suffixes):
            return None if places is None else values[0].times(1 << (places & 31))
        if left or "W" in one.suffixes:
            return None
        source = values[0] if one.base == "SHR" else values[2] if len(values) > 2 and values[0].constant == 0 else None
        if source is None or ("HI" not in one.suffixes and one.base != "SHR"):
            return None
        return Sum.atom(Made("sar" if "S32" in one.suffixes else "shr", (source, values[1])))

    def _chosen(self, one: Instruction, values: Sequence[Sum]) -> Sum | None:
        """Selections, minima and maxima, and logic."""
        if one.base in ("SEL", "USEL") and len(values) == 2:
            return Sum.atom(Choice(one.pc, one.result, (values[0], values[1])))
        if one.base in ("LOP3", "ULOP3", "LOP", "ULOP") and len(values) >= 4:
            table = values[3].constant
            known = TABLES.get(table) if table is not None and values[2].constant == 0 else None
            return Sum.atom(Made(known, (values[0], values[1]))) if known else None
        if one.base in ("IMNMX", "VIMNMX", "UIMNMX") and len(values) == 2 and not {"U32", "U64", "64"} & set(one.suffixes):
            which = {"PT": "min", "UPT": "min", "!PT": "max", "!UPT": "max"}.get(one.operands[-1])
            return Sum.atom(Made(which, (values[0], values[1]))) if which else None
        return None

    def _operand(self, text: str, read: Read, one: Instruction) -> Sum | None:
        if text.startswith("-"):
            inner = None if NUMBER.match(text) else self._operand(text[1:], read, one)
            if inner is not None:
                return -inner
        if text.startswith("~"):
            inner = self._operand(text[1:], read, one)
            return None if inner is None else -inner - Sum.number(1)
        plain = MODIFIERS.sub("", text)
        if NUMBER.match(plain):
            return Sum.number(int(plain, 0))
        found = REGISTER.match(plain)
        if found:
            return Sum() if found[2] == "Z" else read(plain)
        return self._constant(plain, 4, 0, read, one) if plain.startswith("c[") else None

    def _constant(self, text: str, size: int, skip: int, read: Read, one: Instruction) -> Sum | None:
        """A word of a constant bank: a parameter, an extent of the launch, or what only the driver knows."""
        found = CONSTANT.match(text)
        if found is None:
            return None
        place = self._place(found[2], read, one)
        at = place.constant if place is not None else None
        if int(found[1], 16) or place is None:
            return Sum.atom(Load(one.pc, "constant", size, None, skip))
        if at is None or size < 4:
            return Sum.atom(Load(one.pc, "parameters", size, place - Sum.number(self.parameters), skip))
        at += skip
        if at >= self.parameters:
            return Sum.atom(Param(at - self.parameters))
        for name, first in zip(("blockDim", "gridDim"), self.extents, strict=True):
            if first <= at < first + 12:
                return Sum.atom(Index(name, (at - first) // 4))
        return None

    def _place(self, text: str, read: Read, one: Instruction) -> Sum | None:
        total = Sum()
        for part in filter(None, re.split(r"\+(?=[^\]]*$)", text.replace("+-", "+ -"))):
            value = self._operand(part.strip(), read, one)
            if value is None:
                return None
            total += value
        return total

    def address(self, one: Instruction, read: Read) -> Sum | None:
        """The lower half of the address that an instruction accesses; None for forms that are not known."""
        text = one.memory
        if text is None:
            return None
        inner = re.sub(r"^(g?desc\[[^\]]*\])", "", text)
        found = re.match(r"^\[([^\]]*)\]$", inner)
        return self._place(found[1], read, one) if found else None


def _names(one: Instruction) -> list[str]:
    found = REGISTER.match(one.result)
    return [f"{found[1]}{number}" for number in one.results] if found else []


def _special(text: str) -> Sum | None:
    if text == "SRZ":
        return Sum()
    found = SPECIAL.match(text)
    return Sum.atom(Index(INDEXES[found[1]], "XYZ".index(found[2]))) if found else None


def _halves(one: Instruction) -> Sum | None:
    """A constant that the compiler makes as two halves: HFMA2 R5, -RZ, RZ, 0, 2.384185791015625e-07 is 4."""
    sources = one.operands[1:]
    if len(sources) != 4 or {text.lstrip("-") for text in sources[:2]} != {"RZ"}:
        return None
    try:
        high, low = (struct.unpack("<H", struct.pack("<e", float(text)))[0] for text in sources[2:])
    except (ValueError, OverflowError, struct.error):
        return None
    return Sum.number(high << 16 | low)
