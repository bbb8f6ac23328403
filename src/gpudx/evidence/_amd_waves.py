"""The access that stopped a wave, out of what a debugger printed of it: registers, and machine code as text.

AMD's debug agent prints registers as "s4: 0000a000" and "v2: [0] 00000000 [1] ...", rocgdb in columns; both print code as
"0x7f10 <+16>: global_load_dword v5, v[2:3], off". After a memory violation the wave has gone on: the access is one of the instructions
before the arrow, and its address can be computed only while nobody has written its registers since. Forms of operands are those of
LLVM's "User Guide for AMDGPU Backend" ("Instruction Syntax") and of AMD's instruction set documents, from gfx90a to gfx12; which bits
they are encoded in does not matter here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

_SCALAR = re.compile(r"\b(s\d+): ([0-9a-fA-F]{8})\b")
_VECTOR = re.compile(r"\b(v\d+): ((?:\[\d+\] [0-9a-fA-F]{8}\s*)+)")
_LANE = re.compile(r"\[(\d+)\] ([0-9a-fA-F]{8})")
_EXEC = re.compile(r"\bexec: ([0-9a-fA-F]{8,16})\b")
# rocgdb's "info registers": "s4   0x1000   4096" and "v2   {0x2000, 0x2004, 0x0 <repeats 62 times>}".
_GDB_SCALAR = re.compile(r"^(s\d+|exec)\s+0x([0-9a-fA-F]{1,16})\b", re.MULTILINE)
_GDB_VECTOR = re.compile(r"^(v\d+)\s+\{([^}\n]+)\}", re.MULTILINE)
_GDB_LANE = re.compile(r"(-?(?:0x[0-9a-fA-F]+|\d+))(?: <repeats (\d+) times>)?")
MOST_LANES = 64
_CODE = re.compile(r"^\s*(=>)?\s*(0x[0-9a-fA-F]+)(?: <\+\d+>| <[^>]*>)?:\s*([a-z]\w+.*?)\s*(?://.*|;.*)?$")
_RANGE = re.compile(r"^([sv])\[(\d+):(\d+)\]$|^([sv])(\d+)$")
_MEMORY = re.compile(r"^(global|flat|scratch|buffer|ds|s_buffer|s)_(load|store|read|write|atomic)\w*$")
_WIDTH = re.compile(r"(?:dword|b32|u32|i32|f32)(?:x(\d+))?|b(\d+)|([us]?(?:byte|short)|[ui]8|[uib]16)")
_LABEL = re.compile(r"^\s*[.\w$]+:")
_LEAVES = ("s_branch", "s_setpc", "s_swappc", "s_endpgm", "s_call")
_ENDS = (*_LEAVES, "s_cbranch")
SMALL = {"byte": 1, "8": 1, "short": 2, "16": 2}
MOST_BACK = 64
PAGE = 4096


@dataclass(frozen=True)
class Instruction:
    """One line of code: `here` is where the wave stands."""

    pc: int
    name: str
    operands: tuple[str, ...]
    text: str
    here: bool = False
    joined: bool = False  # a branch may come here from elsewhere

    @property
    def writes(self) -> frozenset[str]:
        """The registers that it changes: the first operand of all that are no stores, branches or compares into masks."""
        if not self.operands or "_store" in self.name or "_write" in self.name or self.name.startswith(_ENDS):
            return frozenset()
        return registers(self.operands[0])

    @property
    def reads(self) -> frozenset[str]:
        first = 0 if not self.writes else 1
        return frozenset(name for operand in self.operands[first:] for name in registers(operand.split()[0]))


@dataclass(frozen=True)
class Wave:
    """The registers of one wave: of vectors a value for each lane. `active`: the lanes that are switched on, None if not told."""

    scalars: Mapping[str, int] = field(default_factory=dict)
    vectors: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    active: int | None = None


@dataclass(frozen=True)
class Access:
    """What one lane touched. `registers` are those that the address was made of, with their values."""

    instruction: Instruction
    lane: int
    address: int
    bytes: int
    writes: bool
    registers: tuple[tuple[str, int], ...]
    bases: tuple[int, ...] = ()  # pointers among them, and those in registers that the address was computed from


# ---- reading ----


def wave(text: str) -> Wave:
    """The registers in what was printed between a wave's headline and its code."""
    active = _EXEC.search(text)
    vectors = {name: {int(i): int(v, 16) for i, v in _LANE.findall(lanes)} for name, lanes in _VECTOR.findall(text)}
    scalars = {n: int(v, 16) for n, v in _SCALAR.findall(text)}
    columns = {n: int(v, 16) for n, v in _GDB_SCALAR.findall(text)}
    mask = int(active[1], 16) if active else columns.pop("exec", None)
    return Wave(scalars | columns, vectors | {n: _lanes(v) for n, v in _GDB_VECTOR.findall(text)}, mask)


def _lanes(text: str) -> dict[int, int]:
    """The values of a vector as rocgdb prints it, each for its lane."""
    values: list[int] = []
    for value, repeats in _GDB_LANE.findall(text):
        values += [int(value, 0) & 0xFFFFFFFF] * min(int(repeats or "1"), MOST_LANES)
    return dict(enumerate(values[:MOST_LANES]))


def code(lines: Iterable[str]) -> list[Instruction]:
    """The instructions among the lines, in order; labels, and branches to numbers, tell where paths join."""
    found: list[Instruction] = []
    label = False
    for line in lines:
        one = instruction(line)
        if one:
            found.append(replace(one, joined=label))
        label = bool(_LABEL.match(line)) if one is None and line.strip() else label and one is None
    targets = {to for one in found if (to := target(one)) is not None}
    return [replace(one, joined=True) if one.pc in targets else one for one in found]


def target(one: Instruction) -> int | None:
    """Where a branch goes whose distance is told in words of four bytes, from the next instruction on (SOPP, simm16)."""
    if not one.name.startswith(("s_branch", "s_cbranch")) or not one.operands:
        return None
    words = _number(one.operands[0].split()[0])
    return None if words is None else one.pc + 4 + 4 * (words - (1 << 16) if words >= 1 << 15 else words)


def instruction(line: str) -> Instruction | None:
    found = _CODE.match(line)
    if found is None:
        return None
    name, _, rest = found[3].partition(" ")
    operands = tuple(part.strip() for part in _split(rest)) if rest.strip() else ()
    return Instruction(int(found[2], 16), name, operands, found[3], bool(found[1]))


def _split(text: str) -> list[str]:
    """Operands; commas inside of brackets belong to one."""
    return re.split(r",\s*(?![^\[]*\])", text)


def registers(operand: str) -> frozenset[str]:
    """ "v[2:3]" -> {"v2", "v3"}"""
    found = _RANGE.match(operand)
    if found is None:
        return frozenset()
    kind, low, high = (found[1], int(found[2]), int(found[3])) if found[1] else (found[4], int(found[5]), int(found[5]))
    return frozenset(f"{kind}{n}" for n in range(low, high + 1)) if high - low < 32 else frozenset()


# ---- addresses ----


def accesses(printed: Wave, listing: Sequence[Instruction]) -> Iterator[Access]:
    """What the instructions before the arrow touched, the nearest first, as far as their registers still tell it."""
    here = next((n for n, one in enumerate(listing) if one.here), len(listing))
    changed: set[str] = set()
    active = printed.active
    for at in range(here - 1, max(0, here - MOST_BACK) - 1, -1):
        one = listing[at]
        if one.name.startswith(_ENDS):
            return
        changed |= one.writes
        if any("exec" in operand for operand in one.operands) or "saveexec" in one.name:
            active = None  # lanes were switched on or off since
        if _MEMORY.match(one.name):
            pointers = _pointers(printed, listing, at, here)
            yield from (replace(access, bases=pointers) for access in _of(one, printed, changed, active))


def _pointers(printed: Wave, listing: Sequence[Instruction], at: int, here: int) -> tuple[int, ...]:
    """What pairs of scalar registers hold that the address at `at` was computed from, as far as nobody has written them since."""
    made = made_of(listing[at])
    steps = slice_of(listing, at, made.names) if made else []
    written: set[str] = set()
    intact: set[str] = set()
    for one in reversed(listing[: here]):
        written |= one.writes
        if one is listing[at] or one in steps:
            intact |= {name for name in one.reads if name.startswith("s") and name not in written}
    even = sorted(int(name[1:]) for name in intact if int(name[1:]) % 2 == 0 and f"s{int(name[1:]) + 1}" in intact)
    pairs = [(printed.scalars.get(f"s{n}"), printed.scalars.get(f"s{n + 1}")) for n in even]
    return tuple(low | high << 32 for low, high in pairs if low is not None and high is not None)


def _of(one: Instruction, printed: Wave, changed: set[str], active: int | None) -> Iterator[Access]:
    made = made_of(one)
    if made is None or made.names & changed or not _known(made, printed):
        return
    lanes = sorted(printed.vectors[made.vector[0]]) if made.vector else [0]
    for lane in lanes:
        if made.vector and active is not None and not active >> lane & 1:
            continue
        vector = [printed.vectors[name].get(lane, 0) for name in made.vector]
        scalar = [printed.scalars[name] for name in made.scalar]
        address = made.offset + _joined(vector) + _joined(scalar[:2], made.mask)
        values = (*zip(made.vector, vector, strict=True), *zip(made.scalar, scalar, strict=True))
        yield Access(
            one, lane, address & (1 << 64) - 1, width(one.name), "_store" in one.name or "_atomic" in one.name, values
        )


@dataclass(frozen=True)
class _Made:
    """What an address is the sum of."""

    vector: tuple[str, ...]
    scalar: tuple[str, ...]
    offset: int
    mask: int = (1 << 64) - 1

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.vector, *self.scalar))


def _known(made: _Made, printed: Wave) -> bool:
    return all(n in printed.vectors for n in made.vector) and all(n in printed.scalars for n in made.scalar)


def _joined(words: Sequence[int], mask: int = (1 << 64) - 1) -> int:
    """One or two registers as a number: the second has the upper half."""
    return sum(word << 32 * n for n, word in enumerate(words[:2])) & mask


def made_of(one: Instruction) -> _Made | None:
    """The parts of the address; None for forms that are not known, and for memory of a work-group or a thread."""
    family = one.name.split("_")[0]
    plain = [operand.split()[0] for operand in one.operands if operand]
    offset = re.search(r"offset:(-?(?:0x)?[0-9a-fA-F]+)", one.text)
    imm = int(offset[1], 0) if offset else 0
    if family in ("global", "flat"):
        return _global(one, plain, imm)
    if family == "buffer":
        return _buffer(one, plain, imm)
    if one.name.startswith("s_load") and len(plain) >= 3:
        last = _number(plain[2])
        base = _ordered(plain[1])
        return _Made((), base, last + imm) if last is not None and len(base) == 2 else None
    return None


def _global(one: Instruction, plain: list[str], imm: int) -> _Made | None:
    """Loads have the address second, stores and atomics first; atomics that give the old value back have it second, too."""
    saddr = one.name.startswith("global")
    atomic_back = "_atomic" in one.name and len(plain) == (4 if saddr else 3)
    place = 1 if "_load" in one.name or atomic_back else 0
    if place >= len(plain):
        return None
    vector = _ordered(plain[place])
    base = _ordered(plain[-1]) if saddr and plain[-1].startswith("s") else ()
    good = len(vector) == (1 if base else 2) and vector[0].startswith("v")
    return _Made(vector, base, imm) if good else None


def _buffer(one: Instruction, plain: list[str], imm: int) -> _Made | None:
    """The first two words of a descriptor hold the address in their lower 48 bits; "offen" adds a register of the lane."""
    descriptor = next((p for p in plain if p.startswith("s[")), "")
    words = _ordered(descriptor)
    if len(words) != 4 or "idxen" in one.text:
        return None
    at = plain.index(descriptor)
    vector = _ordered(plain[at - 1]) if "offen" in one.text and at else ()
    more = _number(plain[at + 1]) if at + 1 < len(plain) else 0
    return _Made(vector, words[:2], imm + more, (1 << 48) - 1) if more is not None else None


def _ordered(operand: str) -> tuple[str, ...]:
    return tuple(sorted(registers(operand), key=lambda name: int(name[1:])))


def _number(operand: str) -> int | None:
    try:
        return int(operand, 0)
    except ValueError:
        return 0 if operand in ("off", "null") else None


def width(name: str) -> int:
    """Bytes that one lane touches: 16 for global_load_dwordx4 and global_load_b128."""
    found = _WIDTH.search(name)
    if found is None:
        return 4
    if found[2]:
        return int(found[2]) // 8
    if found[3]:
        return next(size for key, size in SMALL.items() if key in found[3])
    return 4 * int(found[1] or 1)


# ---- where an address came from ----


def slice_of(listing: Sequence[Instruction], at: int, wanted: frozenset[str]) -> list[Instruction]:
    """The instructions before `at` that made these registers, the first first. It goes back as far as only one path leads there."""
    found: list[Instruction] = []
    open_ = set(wanted)
    if listing[at : at + 1] and listing[at].joined:
        return found
    for one in reversed(listing[:at]):
        if one.name.startswith(_LEAVES) or not open_:
            break
        if one.writes & open_:
            found.append(one)
            open_ -= one.writes
            open_ |= one.reads
        if one.joined:
            break
    return found[::-1]
