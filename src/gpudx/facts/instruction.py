"""What the instruction at a fault accessed, from its bytes and the registers that the recorder kept.

The kernel names an address only for page faults. For an invalid address (x86-64: not canonical), or one
that is not aligned as the instruction demands, it says "general protection fault" and no more. The instruction itself
says where it meant to read or write.

Gathers and scatters take their indexes from a vector register, which is not kept: the address that the kernel names tells the index of
the element that faulted.

Reads the memory operands of x86-64 instructions (Intel SDM volume 2, chapter 2 "Instruction Format", appendix A "Opcode
Map"). What is not understood is not guessed: most EVEX displacements, and accesses relative to FS or GS have no answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudx.trace.last_words import LastWords

MASK = (1 << 64) - 1
SI_KERNEL = 0x80  # asm-generic/siginfo.h
# Encoded register numbers -> the order of LastWords.registers (DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip)
NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)), "rip")
KEPT_AT = (0, 2, 1, 3, 7, 6, 4, 5, *range(8, 16), 16)
RSP, RBP, RSI, RDI, RIP, NONE = 4, 5, 6, 7, 16, -1

PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
# Instructions that only store: one byte, and two bytes (0F ..)
STORES = frozenset((0x88, 0x89, 0xC6, 0xC7, 0x8F))
STORES_0F = frozenset((0x11, 0x13, 0x17, 0x29, 0x2B, 0x7E, 0x7F, 0xC3, 0xD6, 0xE7, *range(0x90, 0xA0)))
CHANGES = frozenset(
    (*(row + n for row in range(0, 0x38, 8) for n in (0, 1)), 0x86, 0x87, 0xD0, 0xD1, 0xD2, 0xD3, 0xC0, 0xC1, 0xFE)
)
CHANGES_0F = frozenset((0xAB, 0xB3, 0xBB, 0xA4, 0xA5, 0xAC, 0xAD, 0xB0, 0xB1, 0xC0, 0xC1, 0xC7))
# SSE moves that demand 16 bytes of alignment, with the prefix that they have (None: with or without 66)
ALIGNED = {0x28: None, 0x29: None, 0x2B: None, 0xE7: 0x66, 0x6F: 0x66, 0x7F: 0x66}
WITHOUT_MODRM_0F = frozenset((5, 6, 7, 8, 9, 0xB, *range(0x30, 0x38), 0x77, *range(0x80, 0x90), 0xA0, 0xA1, 0xA2, 0xA8, 0xA9, 0xAA,
                              *range(0xC8, 0xD0)))  # fmt: skip


@dataclass(frozen=True)
class Access:
    """One memory operand: where it points with the registers as they were."""

    address: int
    writes: bool | None  # None: not known, or both
    text: str  # "rax + rcx*8 + 0x10"
    registers: tuple[tuple[str, int], ...]  # those it is made of, with their values
    alignment: int = 1  # that the instruction demands
    index: tuple[str, int, int] | None = None  # the register that is multiplied: its name, its value (signed), the factor
    width: int = 0  # bytes; 0: not known
    spread: int = 0  # of a gather or scatter, whose indexes are not known: what they are multiplied with

    @property
    def canonical(self) -> bool:
        """Can any memory have this address? (48 bits; with 57 fewer addresses are impossible.)"""
        return self.address >> 47 in (0, 0x1FFFF)

    @property
    def aligned(self) -> bool:
        return self.address % self.alignment == 0


def impossible_access(words: LastWords) -> Access | None:
    """The access that no memory could have satisfied, where the kernel named no address; None: it cannot be told."""
    if words.vouched or words.code != SI_KERNEL:  # others are sent by a process: no access was made
        return None
    wrong = [a for a in accesses(words.instruction, words.registers) if not a.canonical or not a.aligned]
    return wrong[0] if len(wrong) == 1 else None


def faulting_access(words: LastWords) -> Access | None:
    """The access that the kernel named the address of; None: it was another instruction's, or is not understood."""
    if words.fault_address is None:
        return None
    found = [_element(a, words.address) for a in accesses(words.instruction, words.registers)]
    hit = [a for a in found if a.address <= words.address < a.address + max(a.width, 1)]
    return hit[0] if len(hit) == 1 else None


def _element(access: Access, address: int) -> Access:
    """Of a gather or scatter: the element at an address."""
    if not access.spread or (address - access.address) % access.spread:
        return access
    index = (address - access.address) // access.spread
    return replace(access, address=address, index=("a vector register", index, access.spread))


def accesses(code: bytes, registers: tuple[int, ...]) -> list[Access]:
    """The memory operands of the first instruction; [] where there is none, or it is not understood."""
    if len(registers) < len(NAMES) or not any(code):
        return []
    try:
        return _Decoder(code, registers).operands()
    except IndexError:
        return []  # cut off


@dataclass(frozen=True)
class _Operand:
    base: int
    index: int
    scale: int
    displacement: int


class _Decoder:
    def __init__(self, code: bytes, registers: tuple[int, ...]) -> None:
        self.code, self.at = code, 0
        self.values = [registers[KEPT_AT[n]] & MASK for n in range(len(NAMES))]
        self.prefixes: set[int] = set()
        self.rex, self.evex = 0, False
        self.width = 0

    def operands(self) -> list[Access]:
        self._prefixes()
        if self.prefixes & {0x64, 0x65, 0x67}:  # FS, GS: their bases are not kept; 32-bit addresses: not met
            return []
        opcode = self._byte()
        if opcode in (0xC4, 0xC5, 0x62):
            return self._vector(opcode)
        if opcode == 0x0F:
            return self._two_bytes()
        return self._one_byte(opcode)

    def _byte(self) -> int:
        self.at += 1
        return self.code[self.at - 1]

    def _signed(self, size: int) -> int:
        raw = self.code[self.at : self.at + size]
        if len(raw) < size:
            raise IndexError
        self.at += size
        return int.from_bytes(raw, "little", signed=True)

    def _prefixes(self) -> None:
        while self.code[self.at] in PREFIXES:
            self.prefixes.add(self._byte())
        if self.code[self.at] & 0xF0 == 0x40:
            self.rex = self._byte()

    # ---- opcodes ----

    def _one_byte(self, opcode: int) -> list[Access]:
        if 0xA4 <= opcode <= 0xA7 or 0xAA <= opcode <= 0xAF:
            return self._string(opcode)
        if 0x50 <= opcode <= 0x5F:
            push = opcode < 0x58
            return [self._access(_Operand(RSP, NONE, 1, -8 if push else 0), push)]
        if opcode in (0xC2, 0xC3):
            return [self._access(_Operand(RSP, NONE, 1, 0), False)]
        if opcode == 0xE8:
            return [self._access(_Operand(RSP, NONE, 1, -8), True)]
        if not _has_modrm(opcode) or opcode == 0x8D:  # lea only computes
            return []
        self.width = self._general(opcode)
        immediate = _immediate(opcode, self.code[self.at], 0x66 in self.prefixes)
        writes = (
            True
            if opcode in STORES
            else None
            if opcode in CHANGES or opcode in (0x80, 0x81, 0x83, 0xF6, 0xF7, 0xFF)
            else False
        )
        return self._modrm(writes, immediate)

    def _two_bytes(self) -> list[Access]:
        opcode = self._byte()
        if opcode in (0x38, 0x3A):
            self._byte()
            return self._modrm(None, 1 if opcode == 0x3A else 0)
        if opcode in WITHOUT_MODRM_0F or opcode in (0x0D, 0x18, 0x1E, 0x1F):  # the last are hints: they never fault
            return []
        self.width = self._scalar(opcode, self._repeated(), 16)
        wanted = ALIGNED.get(opcode, 0)
        aligned = wanted is None or (wanted and wanted in self.prefixes)
        if opcode in (0x28, 0x29) and self.prefixes & {0xF2, 0xF3}:
            aligned = False
        writes = True if opcode in STORES_0F else None if opcode in CHANGES_0F else False
        if opcode == 0x7E and 0xF3 in self.prefixes:
            writes = False  # movq from memory
        immediate = 1 if opcode in (0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6) else 0
        return self._modrm(writes, immediate, 16 if aligned else 1)

    def _vector(self, first: int) -> list[Access]:
        """VEX and EVEX: the registers' upper bits are inverted; all opcodes but vzeroupper have a ModRM byte."""
        second = self._byte()
        inverted, map_number, third = second, 1, second
        if first != 0xC5:
            map_number = second & (31 if first == 0xC4 else 7)
            third = self._byte()
        if first == 0x62:
            self._byte()
            self.evex = True
        self.rex = 0x40 | (~inverted >> 5 & (4 if first == 0xC5 else 7))
        opcode = self._byte()
        if map_number == 1 and opcode == 0x77:
            return []  # vzeroupper
        if map_number == 2 and opcode in (*range(0x90, 0x94), *range(0xA0, 0xA4)):
            return self._spread(8 if third & 0x80 else 4, opcode >= 0xA0)
        writes = map_number == 1 and opcode in STORES_0F
        if map_number == 1 and opcode == 0x7E and third & 3 == 2:
            writes = False
        width = 64 if self.evex else 32 if third & 4 else 16
        self.width = self._scalar(opcode, third & 3, width) if map_number == 1 and not self.evex else 0
        wanted = ALIGNED.get(opcode, 0) if map_number == 1 else 0
        needs = third & 3 == 1 if wanted == 0x66 else third & 3 in (0, 1)
        alignment = width if wanted != 0 and needs and not self.evex else 1
        return self._modrm(writes if map_number == 1 else None, 1 if map_number == 3 else 0, alignment)

    def _spread(self, width: int, writes: bool) -> list[Access]:
        """A gather or scatter: base + a vector of indexes * scale. EVEX counts a short displacement in elements."""
        mod = self._byte() >> 6
        sib = self._byte()
        base: int = (sib & 7) | (self.rex & 1) << 3
        if sib & 7 == 5 and mod == 0:
            base = NONE
        displacement = self._signed((4 if base == NONE else 0, 1, 4)[mod]) if mod or base == NONE else 0
        self.width, scale = width, 1 << (sib >> 6)
        found = self._access(_Operand(base, NONE, 1, displacement * (width if self.evex and mod == 1 else 1)), writes)
        return [replace(found, spread=scale, text=f"{found.text} + indexes*{scale}")]

    def _string(self, opcode: int) -> list[Access]:
        from_source = opcode & ~1 in (0xA4, 0xA6, 0xAC)
        to_target = opcode & ~1 in (0xA4, 0xA6, 0xAA, 0xAE)
        found = []
        if from_source:
            found.append(self._access(_Operand(RSI, NONE, 1, 0), False))
        if to_target:
            found.append(self._access(_Operand(RDI, NONE, 1, 0), opcode & ~1 in (0xA4, 0xAA)))
        return found

    # ---- widths ----

    def _general(self, opcode: int) -> int:
        """Of an instruction on general registers: the lowest bit of most opcodes says "not a byte"."""
        if opcode == 0x63:
            return 4
        if opcode in range(0x38) or opcode in range(0x80, 0x8C) or opcode in (0xC0, 0xC1, 0xC6, 0xC7, 0xF6, 0xF7):
            return (8 if self.rex & 8 else 2 if 0x66 in self.prefixes else 4) if opcode & 1 else 1
        return 0

    def _repeated(self) -> int:
        """The prefix that chooses the type of an SSE instruction, as VEX encodes it: 2 for float, 3 for double."""
        return 2 if 0xF3 in self.prefixes else 3 if 0xF2 in self.prefixes else 1 if 0x66 in self.prefixes else 0

    def _scalar(self, opcode: int, kind: int, whole: int) -> int:
        """Of an instruction of the map 0F: moves and arithmetic of one float or double, or of whole registers."""
        if opcode in (0xB6, 0xBE):
            return 1
        if opcode in (0xB7, 0xBF):
            return 2
        if opcode == 0xD6:
            return 8
        if opcode in (0x6E, 0x7E):
            return 8 if kind == 2 or self.rex & 8 else 4
        if opcode in (0x10, 0x11, 0x51, *range(0x58, 0x60)) and opcode != 0x5B:
            return {2: 4, 3: 8}.get(kind, whole)
        if opcode in (0x2E, 0x2F):
            return 8 if kind == 1 else 4
        return whole if opcode in (0x28, 0x29, 0x6F, 0x7F, 0x54, 0x57, 0xFE, 0xEF) else 0

    # ---- addresses ----

    def _modrm(self, writes: bool | None, immediate: int, alignment: int = 1) -> list[Access]:
        byte = self._byte()
        mod, low = byte >> 6, byte & 7
        if mod == 3:
            return []
        base: int = low | (self.rex & 1) << 3
        index, scale = NONE, 1
        if low == 4:
            sib = self._byte()
            scale, base = 1 << (sib >> 6), (sib & 7) | (self.rex & 1) << 3
            index = (sib >> 3 & 7) | (self.rex & 2) << 2
            index = NONE if index == RSP else index
            if sib & 7 == 5 and mod == 0:
                base = NONE
        elif low == 5 and mod == 0:
            base = RIP
        size = (4 if base in (RIP, NONE) else 0, 1, 4)[mod]
        if self.evex and mod == 1:
            return []  # the byte counts elements of a size that depends on the instruction
        displacement = self._signed(size) if size else 0
        if base == RIP:
            displacement += self.at + immediate  # relative to the next instruction
        return [self._access(_Operand(base, index, scale, displacement), writes, alignment)]

    def _access(self, operand: _Operand, writes: bool | None, alignment: int = 1) -> Access:
        used = [(n, f) for n, f in ((operand.base, 1), (operand.index, operand.scale)) if n != NONE]
        address = sum(self.values[n] * factor for n, factor in used) + operand.displacement
        terms = [NAMES[n] + (f"*{factor}" if factor > 1 else "") for n, factor in used]
        text = " + ".join(terms)
        if operand.displacement or not terms:
            sign = "-" if operand.displacement < 0 else "+"
            text = f"{text} {sign} {abs(operand.displacement):#x}" if terms else f"{operand.displacement & MASK:#x}"
        kept = tuple(dict.fromkeys((NAMES[n], self.values[n]) for n, _ in used))
        index = None
        if operand.index != NONE:
            value = self.values[operand.index]
            index = (NAMES[operand.index], value - (1 << 64) if value >> 63 else value, operand.scale)
        return Access(address & MASK, writes, text, kept, alignment, index, self.width)


def _has_modrm(opcode: int) -> bool:
    if opcode < 0x40:
        return opcode & 7 < 4
    groups = (0x63, 0x69, 0x6B, 0xC0, 0xC1, 0xC6, 0xC7, 0xF6, 0xF7, 0xFE, 0xFF)
    return opcode in groups or opcode in range(0x80, 0x90) or opcode in range(0xD0, 0xD4) or opcode in range(0xD8, 0xE0)


def _immediate(opcode: int, modrm: int, short: bool) -> int:
    """Bytes behind the operand, which an address relative to RIP counts from."""
    if opcode in (0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6) or (opcode == 0xF6 and modrm >> 3 & 7 < 2):
        return 1
    if opcode in (0x69, 0x81, 0xC7) or (opcode == 0xF7 and modrm >> 3 & 7 < 2):
        return 2 if short else 4
    return 0
