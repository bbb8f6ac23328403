"""The stack of the thread that died, from what the recorder kept: registers and the top of the stack, nothing else.

Call frame information (.eh_frame, found through its search table) says where each caller's registers are. It is read
from the objects on disk, memory only from the kept stack. Where there is none (code made at run time, OpenCL kernels)
one step is guessed, and believed only if the guessed place follows a call instruction. Every other doubt ends the
stack: a short one is worth more than one with a frame that never was.

Limits: x86-64. Objects without a search table, .debug_frame, and expressions that branch end the stack.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.elf.image import MASK, Image
from gpudx.facts.symbols import Symbols, symbols_of
from gpudx.trace.reader import LastWords, Trace

CUT = "... (callers before this one could not be recovered)"
RECORDER = "libgpudx"
# Libraries that the recorder itself calls. Called from anything else, it has only passed a call on.
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
STAND_INS = ("dlsym", "dlvsym", "exec", "fexec", "system", "popen", "posix_spawn", "own_")
OWN_HELPERS = ("libc.so", "libc-", "ld-linux", "[vdso]", "libpthread", "libgcc_s")

# DWARF numbers of registers (System V ABI x86-64, figure 3.36)
REGISTERS, RBP, RSP, RETURN = 17, 6, 7, 16
PRESERVED = frozenset((3, RBP, 12, 13, 14, 15, RETURN))
MOST_ENTRY_BYTES = 1 << 16
MOST_TABLE_BYTES = 64 << 20
MOST_SAVED = 64
MOST_FRAMES = 64
# What all linkers write: the count as udata4, the table as pairs of sdata4 relative to the section it is in.
SEARCHABLE = b"\x03\x3b"
# DW_EH_PE_* format -> (bytes, signed)
POINTERS = {0: (8, False), 2: (2, False), 3: (4, False), 4: (8, False), 10: (2, True), 11: (4, True), 12: (8, True)}


class _Unknown(Exception):
    """It cannot be said who called."""


class _Outermost(Exception):
    """Nobody called: the thread began here."""


# ---- reading call frame information ----


class _Reader:
    """Numbers from bytes whose first one has the linked address `base`."""

    def __init__(self, data: bytes, base: int = 0) -> None:
        self.data, self.base, self.at = data, base, 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise _Unknown
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
        raise _Unknown

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
            raise _Unknown
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
class _Function:
    """The call frame information of one function."""

    common: _Common
    begin: int
    instructions: bytes


def _block(image: Image, address: int) -> _Reader:
    """A CIE or FDE, after its length."""
    size = int.from_bytes(image.at(address, 4), "little")
    if not 4 < size <= MOST_ENTRY_BYTES:
        raise _Unknown
    return _Reader(image.at(address + 4, size), address + 4)


def _read_common(reader: _Reader) -> _Common:
    if reader.fixed(4) != 0:
        raise _Unknown
    version, augmentation = reader.fixed(1), reader.text()
    if version not in (1, 3, 4) or augmentation[:1] not in (b"", b"z"):
        raise _Unknown
    if version == 4 and reader.take(2) != b"\x08\x00":
        raise _Unknown
    code_unit, data_unit = reader.number(), reader.signed()
    if (reader.fixed(1) if version == 1 else reader.number()) != RETURN:
        raise _Unknown
    encoding = _read_augmentation(_Reader(reader.take(reader.number())), augmentation[1:]) if augmentation else 0
    return _Common(code_unit, data_unit, encoding, bool(augmentation), b"S" in augmentation, reader.rest())


def _read_augmentation(reader: _Reader, letters: bytes) -> int:
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
            raise _Unknown
    return encoding


def _read_function(image: Image, where: int, address: int) -> _Function | None:
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
    return _Function(common, begin, reader.rest())


def _search_table(image: Image) -> tuple[int, NDArray[np.int32]]:
    """(address, rows of function and FDE relative to it) of an object's .eh_frame_hdr."""
    address, size = image.eh_frame_hdr() or (0, 0)
    data = image.at(address, min(size, MOST_TABLE_BYTES))
    reader = _Reader(data, address)
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
class _Rules:
    """How to find the caller's registers. `cfa` is (register, offset) or an expression."""

    cfa: tuple[int, int] | bytes = (RSP, 8)
    registers: dict[int, Rule] = field(default_factory=dict)

    def copy(self) -> _Rules:
        return replace(self, registers=dict(self.registers))


class _Machine:
    """Runs call frame instructions (DWARF 5, section 6.4.2) up to one address."""

    def __init__(self, function: _Function, address: int) -> None:
        self._common, self._address = function.common, address
        self.rules, self._initial = _Rules(), _Rules()
        self._saved: list[_Rules] = []
        self._run(self._common.instructions, function.begin)
        self._initial = self.rules.copy()
        self._run(function.instructions, function.begin)

    def _run(self, instructions: bytes, location: int) -> None:
        reader = _Reader(instructions)
        while reader.at < len(instructions):
            code = reader.fixed(1)
            steps = self._steps(reader, code)
            location += steps * self._common.code_unit
            if location > self._address:
                return
            if not steps:
                self._change(reader, code)

    def _steps(self, reader: _Reader, code: int) -> int:
        """How far an instruction moves on; 0 for one that changes a rule."""
        if code >> 6 == 1:
            return code & 63
        return reader.fixed({2: 1, 3: 2, 4: 4}[code]) if code in (2, 3, 4) else 0

    def _change(self, reader: _Reader, code: int) -> None:
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

    def _change_cfa(self, reader: _Reader, code: int) -> None:
        unit, cfa = self._common.data_unit, self.rules.cfa
        if code == 0x0C:
            self.rules.cfa = (reader.number(), reader.number())
        elif code == 0x12:
            self.rules.cfa = (reader.number(), reader.signed() * unit)
        elif code == 0x0F:
            self.rules.cfa = reader.take(reader.number())
        elif isinstance(cfa, bytes):
            raise _Unknown
        elif code == 0x0D:
            self.rules.cfa = (reader.number(), cfa[1])
        else:
            self.rules.cfa = (cfa[0], reader.number() if code == 0x0E else reader.signed() * unit)

    def _change_other(self, reader: _Reader, code: int) -> None:
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
                raise _Unknown

    def _restore(self, register: int) -> None:
        if register in self._initial.registers:
            self.rules.registers[register] = self._initial.registers[register]
        else:
            self.rules.registers.pop(register, None)


_REGISTER_RULES: dict[int, Callable[[_Reader, int], Rule]] = {
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


# ---- walking ----


@dataclass(frozen=True)
class Frame:
    """One frame. Registers are None where they are not known. `exact`: the address is where it stopped or was
    interrupted; otherwise it is where it will go on after a call."""

    registers: tuple[int | None, ...]
    exact: bool

    @property
    def address(self) -> int:
        return self.registers[RETURN] or 0

    @property
    def inside(self) -> int:
        """An address that surely lies in the code that ran."""
        return self.address if self.exact else self.address - 1

    def get(self, register: int) -> int:
        value = self.registers[register] if 0 <= register < REGISTERS else None
        if value is None:
            raise _Unknown
        return value


class _Walk:
    """Goes from frame to frame. `complete` says whether it reached the beginning of the thread."""

    def __init__(self, words: LastWords, symbols: Symbols, limit: int) -> None:
        self._words, self._symbols = words, symbols
        self._tables: dict[Image, tuple[int, NDArray[np.int32]]] = {}
        self._guessed = False
        self.complete = False
        self.frames = [Frame(_first_registers(words), True)]
        self._go(limit)

    def _go(self, limit: int) -> None:
        try:
            while len(self.frames) < limit:
                self.frames.append(self._caller(self.frames[-1]))
        except _Outermost:
            self.complete = True
        except _Unknown:
            pass

    def _caller(self, frame: Frame) -> Frame:
        if not self._symbols.executable(frame.inside):
            if len(self.frames) > 1:
                raise _Unknown
            return self._jumped_from(frame)
        function = self._function(frame)
        if function is None:
            return self._guess(frame)
        found, linked = function
        caller = self._apply(_Machine(found, linked).rules, frame, found.common.signal)
        if not caller.address:
            raise _Outermost
        # A handler may run on a stack of its own, so only calls have to go upwards.
        if not caller.exact and caller.get(RSP) <= frame.get(RSP):
            raise _Unknown
        if not self._symbols.executable(caller.inside):
            raise _Unknown
        return caller

    def _function(self, frame: Frame) -> tuple[_Function, int] | None:
        """The information for the code that a frame is in, and its linked address."""
        found = self._symbols.image(frame.inside)
        if found is None:
            return None
        image, linked = found
        if image not in self._tables:
            self._tables[image] = _search_table(image)
        base, table = self._tables[image]
        at = int(np.searchsorted(table[:, 0], linked - base, "right")) - 1
        function = _read_function(image, base + int(table[at, 1]), linked) if at >= 0 else None
        return (function, linked) if function else None

    # ---- one step by rules ----

    def _apply(self, rules: _Rules, frame: Frame, signal: bool) -> Frame:
        if isinstance(rules.cfa, bytes):
            cfa = self._evaluate(rules.cfa, frame, [])
        else:
            cfa = (frame.get(rules.cfa[0]) + rules.cfa[1]) & MASK
        if rules.registers.get(RETURN, ("", 0))[0] == "undefined":
            raise _Outermost
        values = [v if signal or n in PRESERVED else None for n, v in enumerate(frame.registers)]
        values[RSP] = cfa
        for register, rule in rules.registers.items():
            if register < REGISTERS:
                values[register] = self._follow(rule, frame, cfa)
        if values[RETURN] is None or RETURN not in rules.registers:
            raise _Unknown
        return Frame(tuple(values), signal)

    def _follow(self, rule: Rule, frame: Frame, cfa: int) -> int | None:
        """The caller's value of a register, None where it was not kept."""
        kind, value = rule
        try:
            if isinstance(value, bytes):
                place = self._evaluate(value, frame, [cfa])
                return self._read(place) if kind == "at expression" else place
            if kind == "at":
                return self._read((cfa + value) & MASK)
            if kind == "register":
                return frame.get(value)
            return (cfa + value) & MASK if kind == "value" else None
        except _Unknown:
            return None

    def _read(self, address: int) -> int:
        """A word of the kept stack."""
        at = address - self._words.sp
        if not 0 <= at <= len(self._words.stack) - 8:
            raise _Unknown
        return int.from_bytes(self._words.stack[at : at + 8], "little")

    def _evaluate(self, code: bytes, frame: Frame, stack: list[int]) -> int:
        """A DWARF expression without branches: that of PLT entries, of signal frames, of realigned stacks."""
        reader = _Reader(code)
        try:
            while reader.at < len(code):
                self._operate(reader, reader.fixed(1), frame, stack)
            return stack[-1]
        except IndexError:
            raise _Unknown from None

    def _operate(self, reader: _Reader, code: int, frame: Frame, stack: list[int]) -> None:
        if 0x30 <= code <= 0x4F:
            stack.append(code - 0x30)
        elif 0x70 <= code <= 0x8F:
            stack.append((frame.get(code - 0x70) + reader.signed()) & MASK)
        elif code in _BINARY:
            right, left = stack.pop(), stack.pop()
            stack.append(_BINARY[code](left, right) & MASK)
        elif 0x08 <= code <= 0x0F:
            stack.append(reader.fixed(1 << (code - 8) // 2, bool(code & 1)) & MASK)
        elif code in (0x10, 0x11):
            stack.append((reader.number() if code == 0x10 else reader.signed()) & MASK)
        elif code == 0x06:
            stack.append(self._read(stack.pop()))
        elif code == 0x12:
            stack.append(stack[-1])
        elif code == 0x23:
            stack.append((stack.pop() + reader.number()) & MASK)
        else:
            raise _Unknown

    # ---- one step without rules ----

    def _jumped_from(self, frame: Frame) -> Frame:
        """A call through a bad pointer has pushed where it came from, and nothing has run since."""
        sp = frame.get(RSP)
        return self._believe(frame, self._read(sp), sp + 8, frame.registers[RBP])

    def _guess(self, frame: Frame) -> Frame:
        """Code nobody described: a function that has pushed nothing yet, or one with a frame pointer. Once only."""
        if self._guessed:
            raise _Unknown
        self._guessed = True
        try:
            return self._jumped_from(frame)
        except _Unknown:
            bp = frame.get(RBP)
            if bp < frame.get(RSP) or bp % 8:
                raise
            return self._believe(frame, self._read(bp + 8), bp + 16, self._read(bp))

    def _believe(self, frame: Frame, address: int, sp: int, bp: int | None) -> Frame:
        if not self._symbols.executable(address - 1) or not self._follows_call(address):
            raise _Unknown
        pushed_nothing = bp == frame.registers[RBP]
        values = [v if pushed_nothing and n in PRESERVED else None for n, v in enumerate(frame.registers)]
        values[RBP], values[RSP], values[RETURN] = bp, sp, address
        return Frame(tuple(values), False)

    def _follows_call(self, address: int) -> bool:
        """Does a call instruction end at this address? E8 and four bytes, or FF /2 in any of its lengths."""
        found = self._symbols.image(address - 1)
        if found is None:
            return True  # code that is in no file cannot be looked at
        image, linked = found
        code = image.at(linked - 6, 7)
        if len(code) < 7:
            return False
        return code[-5] == 0xE8 or any(code[-n] == 0xFF and code[1 - n] >> 3 & 7 == 2 for n in (2, 3, 4, 6, 7))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda a, b: a & b,
    0x1C: lambda a, b: a - b,
    0x1E: lambda a, b: a * b,
    0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << min(b, 64),
    0x25: lambda a, b: a >> min(b, 64),
    0x26: lambda a, b: _signed(a) >> min(b, 64),
    0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: a == b,
    0x2A: lambda a, b: _signed(a) >= _signed(b),
    0x2B: lambda a, b: _signed(a) > _signed(b),
    0x2C: lambda a, b: _signed(a) <= _signed(b),
    0x2D: lambda a, b: _signed(a) < _signed(b),
    0x2E: lambda a, b: a != b,
}


def _first_registers(words: LastWords) -> tuple[int | None, ...]:
    """As kept; on other machines only the place is known, in other registers, and nothing can be followed."""
    kept = words.registers
    if len(kept) == REGISTERS and kept[RETURN] == words.pc and kept[RSP] == words.sp:
        return kept
    return (*[None] * RETURN, words.pc)


# ---- the way in ----


def unwind(last_words: LastWords, symbols: Symbols, limit: int = MOST_FRAMES) -> tuple[int, ...]:
    """Where the thread was, then the return addresses of its callers, innermost first. At most `limit`.

    Ends early rather than guess wrong; never raises on damaged input. After a signal handler's return code comes the
    address that was interrupted, which is not a return address.
    """
    return tuple(frame.address for frame in _Walk(last_words, symbols, limit).frames)


def host_stack(trace: Trace) -> tuple[str, ...]:
    """The stack of the thread that died, for people, innermost first, inlined functions included; () if none died.

    Ends at main. The recorder's own frame is left out where it only passed a call on to the driver. A stack whose
    beginning could not be reached ends with CUT.
    """
    words = trace.last_words
    if words is None:
        return ()
    symbols = symbols_of(trace.maps)
    walk = _Walk(words, symbols, MOST_FRAMES)
    lines: list[str] = []
    for inner, frame in zip([None, *walk.frames], walk.frames, strict=False):
        if inner is None or not _passes_on(symbols, inner, frame):
            lines += symbols.describe_all(frame.address, not frame.exact)
        if _is_main(symbols, frame):
            return tuple(lines)
    return tuple(lines) if walk.complete else (*lines, CUT)


def recorder_frame(trace: Trace) -> str | None:
    """The recorder's own function that the process died in, or in a library function that it had called; else None."""
    words = trace.last_words
    if (
        words is None or words.signal not in FAULTS or words.code <= 0
    ):  # a signal that was sent says nothing of the place
        return None
    symbols = symbols_of(trace.maps)
    if words.in_recorder:
        return symbols.describe(words.pc, False)
    walk = _Walk(words, symbols, MOST_FRAMES)
    for frame in walk.frames:
        name = _object(symbols, frame)
        if name.startswith(RECORDER):
            return None if _in_place_of_libc(symbols, frame) else symbols.describe(frame.address, not frame.exact)
        if not name.startswith(OWN_HELPERS):
            return None
    return None


def frames_of(trace: Trace, addresses: Iterable[int]) -> tuple[str, ...]:
    """A recorded stack for people, innermost first, from its return addresses. Starts behind the recorder's own frames,
    ends at main."""
    symbols = symbols_of(trace.maps)
    lines: list[str] = []
    for address in addresses:
        frame = Frame((*[None] * RETURN, int(address)), False)
        if not lines and _object(symbols, frame).startswith(RECORDER):
            continue
        lines += symbols.describe_all(frame.address)
        if _is_main(symbols, frame):
            break
    return tuple(lines)


def first_line(trace: Trace, addresses: Iterable[int]) -> str | None:
    """The innermost line of a recorded stack that is known and is not the recorder's own."""
    symbols = symbols_of(trace.maps)
    frames = [Frame((*[None] * RETURN, int(address)), False) for address in addresses]
    theirs = (frame.address for frame in frames if not _object(symbols, frame).startswith(RECORDER))
    return next(filter(None, map(symbols.source, theirs)), None)


def _object(symbols: Symbols, frame: Frame) -> str:
    mapping = symbols.mapping(frame.inside)
    return os.path.basename(mapping.path) if mapping else ""


def _passes_on(symbols: Symbols, inner: Frame, frame: Frame) -> bool:
    """Is this the recorder between the program and its driver? Not if it died in, or through, its own work."""
    own = _object(symbols, inner).startswith((RECORDER, *OWN_HELPERS))
    return _object(symbols, frame).startswith(RECORDER) and not own


def _in_place_of_libc(symbols: Symbols, frame: Frame) -> bool:
    """Is it a function of the C library that the recorder stands in for, and so called with what the program gave?"""
    places = symbols.places(frame.inside)
    return bool(places) and places[-1].function.startswith(STAND_INS)


def _is_main(symbols: Symbols, frame: Frame) -> bool:
    places = symbols.places(frame.inside)
    return bool(places) and places[-1].function == "main"
