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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.elf.call_frames import (
    RBP,
    REGISTERS,
    RETURN,
    RSP,
    Function,
    Machine,
    Reader,
    Rule,
    Rules,
    Unknown,
    read_function,
    search_table,
)
from gpudx.elf.image import MASK, Image
from gpudx.facts.symbols import Place, Symbols, symbols_of
from gpudx.trace import Trace
from gpudx.trace.last_words import LastWords

CUT = "... (callers before this one could not be recovered)"
RECORDER = "libgpudx"
# Libraries that the recorder itself calls. Called from anything else, it has only passed a call on.
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
STAND_INS = ("dlsym", "dlvsym", "exec", "fexec", "system", "popen", "posix_spawn", "own_")
OWN_HELPERS = ("libc.so", "libc-", "ld-linux", "[vdso]", "libpthread", "libgcc_s")

PRESERVED = frozenset((3, RBP, 12, 13, 14, 15, RETURN))
MOST_FRAMES = 64


class _Outermost(Exception):
    """Nobody called: the thread began here."""


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
            raise Unknown
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
        except Unknown:
            pass

    def _caller(self, frame: Frame) -> Frame:
        if not self._symbols.executable(frame.inside):
            if len(self.frames) > 1:
                raise Unknown
            return self._jumped_from(frame)
        function = self._function(frame)
        if function is None:
            return self._guess(frame)
        found, linked = function
        caller = self._apply(Machine(found, linked).rules, frame, found.common.signal)
        if not caller.address:
            raise _Outermost
        # A handler may run on a stack of its own, so only calls have to go upwards.
        if not caller.exact and caller.get(RSP) <= frame.get(RSP):
            raise Unknown
        if not self._symbols.executable(caller.inside):
            raise Unknown
        return caller

    def _function(self, frame: Frame) -> tuple[Function, int] | None:
        """The information for the code that a frame is in, and its linked address."""
        found = self._symbols.image(frame.inside)
        if found is None:
            return None
        image, linked = found
        if image not in self._tables:
            self._tables[image] = search_table(image)
        base, table = self._tables[image]
        at = int(np.searchsorted(table[:, 0], linked - base, "right")) - 1
        function = read_function(image, base + int(table[at, 1]), linked) if at >= 0 else None
        return (function, linked) if function else None

    # ---- one step by rules ----

    def _apply(self, rules: Rules, frame: Frame, signal: bool) -> Frame:
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
            raise Unknown
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
        except Unknown:
            return None

    def _read(self, address: int) -> int:
        """A word of the kept stack."""
        at = address - self._words.sp
        if not 0 <= at <= len(self._words.stack) - 8:
            raise Unknown
        return int.from_bytes(self._words.stack[at : at + 8], "little")

    def _evaluate(self, code: bytes, frame: Frame, stack: list[int]) -> int:
        """A DWARF expression without branches: that of PLT entries, of signal frames, of realigned stacks."""
        reader = Reader(code)
        try:
            while reader.at < len(code):
                self._operate(reader, reader.fixed(1), frame, stack)
            return stack[-1]
        except IndexError:
            raise Unknown from None

    def _operate(self, reader: Reader, code: int, frame: Frame, stack: list[int]) -> None:
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
            raise Unknown

    # ---- one step without rules ----

    def _jumped_from(self, frame: Frame) -> Frame:
        """A call through a bad pointer has pushed where it came from, and nothing has run since."""
        sp = frame.get(RSP)
        return self._believe(frame, self._read(sp), sp + 8, frame.registers[RBP])

    def _guess(self, frame: Frame) -> Frame:
        """Code nobody described: a function that has pushed nothing yet, or one with a frame pointer. Once only."""
        if self._guessed:
            raise Unknown
        self._guessed = True
        try:
            return self._jumped_from(frame)
        except Unknown:
            bp = frame.get(RBP)
            if bp < frame.get(RSP) or bp % 8:
                raise
            return self._believe(frame, self._read(bp + 8), bp + 16, self._read(bp))

    def _believe(self, frame: Frame, address: int, sp: int, bp: int | None) -> Frame:
        if not self._symbols.executable(address - 1) or not self._follows_call(address):
            raise Unknown
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


def frames(last_words: LastWords, symbols: Symbols, limit: int = MOST_FRAMES) -> tuple[Frame, ...]:
    """The same with the registers of each, as far as they are known."""
    return tuple(_Walk(last_words, symbols, limit).frames)


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


def host_places(trace: Trace) -> tuple[Place, ...]:
    """The functions of the stack of the thread that died, innermost first, inlined ones included; () if none died."""
    words = trace.last_words
    if words is None:
        return ()
    symbols = symbols_of(trace.maps)
    return tuple(place for frame in _Walk(words, symbols, MOST_FRAMES).frames for place in symbols.places(frame.inside))


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
