"""Call frame information (.eh_frame, found through its search table): where a function's caller and its registers are.

x86-64. Objects without a search table, .debug_frame, and expressions that branch are not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.elf.image import MASK, Image

# DWARF numbers of registers (System V ABI x86-64, figure 3.36)
REGISTERS, RBP, RSP, RETURN = 17, 6, 7, 16
MOST_ENTRY_BYTES = 1 << 16
MOST_TABLE_BYTES = 64 << 20
MOST_SAVED = 64
# What all linkers write: the count as udata4, the table as pairs of sdata4 relative to the section it is in.
SEARCHABLE = b"\x03\x3b"
# DW_EH_PE_* format -> (bytes, signed)
POINTERS = {0: (8, False), 2: (2, False), 3: (4, False), 4: (8, False), 10: (2, True), 11: (4, True), 12: (8, True)}


class Unknown(Exception):
    """It cannot be said who called."""


# ---- reading call frame information ----


class Reader:
    """Numbers from bytes whose first one has the linked address `base`."""

    def __init__(self, data: bytes, base: int = 0) -> None:
        self.data, self.base, self.at = data, base, 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise Unknown
        self.at += size
        return self.data[self.at - size : self.at]

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.at)

    def fixed(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def number(self) -> int:
        """ULEB128 of at most 64 bits."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.fixed(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Unknown

    def signed(self) -> int:
        """SLEB128 of at most 64 bits."""
        begin = self.at
        value = self.number()
        bits = 7 * (self.at - begin)
        return value - (1 << bits) if value >> (bits - 1) else value

    def text(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        return self.take(end + 1 - self.at)[:-1] if end >= 0 else self.take(-1)

    def pointer(self, encoding: int) -> int:
        """A pointer as DW_EH_PE_* says: absolute or relative to its own place."""
        here = self.base + self.at
        if encoding & 15 not in POINTERS or encoding & 0x70 not in (0, 0x10):
            raise Unknown
        value = self.fixed(*POINTERS[encoding & 15])
        return (value + here if encoding & 0x70 else value) & MASK


@dataclass(frozen=True)
class _Common:
    """What a CIE says for all functions that refer to it."""

    code_unit: int
    data_unit: int
    encoding: int
    sized: bool  # functions have augmentation data
    signal: bool  # the code that runs after a signal handler: its caller was interrupted, it did not call
    instructions: bytes


@dataclass(frozen=True)
class Function:
    """The call frame information of one function."""

    common: _Common
    begin: int
    instructions: bytes


def _block(image: Image, address: int) -> Reader:
    """A CIE or FDE, after its length."""
    size = int.from_bytes(image.at(address, 4), "little")
    if not 4 < size <= MOST_ENTRY_BYTES:
        raise Unknown
    return Reader(image.at(address + 4, size), address + 4)


def _read_common(reader: Reader) -> _Common:
    if reader.fixed(4) != 0:
        raise Unknown
    version, augmentation = reader.fixed(1), reader.text()
    if version not in (1, 3, 4) or augmentation[:1] not in (b"", b"z"):
        raise Unknown
    if version == 4 and reader.take(2) != b"\x08\x00":
        raise Unknown
    code_unit, data_unit = reader.number(), reader.signed()
    if (reader.fixed(1) if version == 1 else reader.number()) != RETURN:
        raise Unknown
    encoding = _read_augmentation(Reader(reader.take(reader.number())), augmentation[1:]) if augmentation else 0
    return _Common(code_unit, data_unit, encoding, bool(augmentation), b"S" in augmentation, reader.rest())


def _read_augmentation(reader: Reader, letters: bytes) -> int:
    """The encoding of code pointers. Unknown letters end the list: what follows them cannot be understood."""
    encoding = 0
    for letter in letters:
        if letter == ord("R"):
            encoding = reader.fixed(1)
        elif letter == ord("P"):
            reader.pointer(reader.fixed(1) & 0x1F)  # the personality routine, which is of no use here
        elif letter == ord("L"):
            reader.fixed(1)
        elif letter != ord("S"):
            raise Unknown
    return encoding


def read_function(image: Image, where: int, address: int) -> Function | None:
    """The FDE at `where`, if it covers `address`."""
    reader = _block(image, where)
    here = reader.base
    common = _read_common(_block(image, here - reader.fixed(4)))
    begin = reader.pointer(common.encoding)
    size = reader.pointer(common.encoding & 15)
    if not begin <= address < begin + size:
        return None
    if common.sized:
        reader.take(reader.number())
    return Function(common, begin, reader.rest())


def search_table(image: Image) -> tuple[int, NDArray[np.int32]]:
    """(address, rows of function and FDE relative to it) of an object's .eh_frame_hdr."""
    address, size = image.eh_frame_hdr() or (0, 0)
    data = image.at(address, min(size, MOST_TABLE_BYTES))
    reader = Reader(data, address)
    if not data or reader.fixed(1) != 1:
        return address, np.zeros((0, 2), np.int32)
    first = reader.fixed(1)
    if reader.take(2) != SEARCHABLE:
        return address, np.zeros((0, 2), np.int32)
    reader.pointer(first)
    count = min(reader.fixed(4), (len(data) - reader.at) // 8)
    return address, np.frombuffer(data, "<i4", count * 2, reader.at).reshape(-1, 2)


# ---- what the information means at one address ----

Rule = tuple[str, int | bytes]  # at CFA + n, value CFA + n, register n, at expression, value expression, undefined


@dataclass
class Rules:
    """How to find the caller's registers. `cfa` is (register, offset) or an expression."""

    cfa: tuple[int, int] | bytes = (RSP, 8)
    registers: dict[int, Rule] = field(default_factory=dict)

    def copy(self) -> Rules:
        return replace(self, registers=dict(self.registers))


class Machine:
    """Runs call frame instructions (DWARF 5, section 6.4.2) up to one address."""

    def __init__(self, function: Function, address: int) -> None:
        self._common, self._address = function.common, address
        self.rules, self._initial = Rules(), Rules()
        self._saved: list[Rules] = []
        self._run(self._common.instructions, function.begin)
        self._initial = self.rules.copy()
        self._run(function.instructions, function.begin)

    def _run(self, instructions: bytes, location: int) -> None:
        reader = Reader(instructions)
        while reader.at < len(instructions):
            code = reader.fixed(1)
            steps = self._steps(reader, code)
            location += steps * self._common.code_unit
            if location > self._address:
                return
            if not steps:
                self._change(reader, code)

    def _steps(self, reader: Reader, code: int) -> int:
        """How far an instruction moves on; 0 for one that changes a rule."""
        if code >> 6 == 1:
            return code & 63
        return reader.fixed({2: 1, 3: 2, 4: 4}[code]) if code in (2, 3, 4) else 0

    def _change(self, reader: Reader, code: int) -> None:
        if code >> 6 == 2:
            self.rules.registers[code & 63] = ("at", reader.number() * self._common.data_unit)
        elif code >> 6 == 3:
            self._restore(code & 63)
        elif code in (0x0C, 0x0D, 0x0E, 0x0F, 0x12, 0x13):
            self._change_cfa(reader, code)
        elif code in _REGISTER_RULES:
            register = reader.number()
            self.rules.registers[register] = _REGISTER_RULES[code](reader, self._common.data_unit)
        else:
            self._change_other(reader, code)

    def _change_cfa(self, reader: Reader, code: int) -> None:
        unit, cfa = self._common.data_unit, self.rules.cfa
        if code == 0x0C:
            self.rules.cfa = (reader.number(), reader.number())
        elif code == 0x12:
            self.rules.cfa = (reader.number(), reader.signed() * unit)
        elif code == 0x0F:
            self.rules.cfa = reader.take(reader.number())
        elif isinstance(cfa, bytes):
            raise Unknown
        elif code == 0x0D:
            self.rules.cfa = (reader.number(), cfa[1])
        else:
            self.rules.cfa = (cfa[0], reader.number() if code == 0x0E else reader.signed() * unit)

    def _change_other(self, reader: Reader, code: int) -> None:
        match code:
            case 0x00 | 0x02 | 0x03 | 0x04:  # nothing, or moves by nothing
                return
            case 0x06:
                self._restore(reader.number())
            case 0x08:
                self.rules.registers.pop(reader.number(), None)
            case 0x0A if len(self._saved) < MOST_SAVED:
                self._saved.append(self.rules.copy())
            case 0x0B if self._saved:
                self.rules = self._saved.pop()
            case 0x2E:  # the size of pushed arguments, for exceptions only
                reader.number()
            case _ if code >> 6 == 1:
                return
            case _:
                raise Unknown

    def _restore(self, register: int) -> None:
        if register in self._initial.registers:
            self.rules.registers[register] = self._initial.registers[register]
        else:
            self.rules.registers.pop(register, None)


_REGISTER_RULES: dict[int, Callable[[Reader, int], Rule]] = {
    0x05: lambda reader, unit: ("at", reader.number() * unit),
    0x07: lambda reader, unit: ("undefined", 0),
    0x09: lambda reader, unit: ("register", reader.number()),
    0x10: lambda reader, unit: ("at expression", reader.take(reader.number())),
    0x11: lambda reader, unit: ("at", reader.signed() * unit),
    0x14: lambda reader, unit: ("value", reader.number() * unit),
    0x15: lambda reader, unit: ("value", reader.signed() * unit),
    0x16: lambda reader, unit: ("value expression", reader.take(reader.number())),
    0x2F: lambda reader, unit: ("at", -reader.number() * unit),
}
