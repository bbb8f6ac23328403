"""Just enough of AMD's machine code to see whether a kernel runs into a trap before it does anything.

Encodings from AMD's "Instruction Set Architecture" documents of Vega, RDNA 2, RDNA 3 and RDNA 4 (chapter "Microcode Formats"), held against
LLVM's disassembler in the tests: the leading bits name the format, SOPP has its operation in bits 16 to 22, a source of 255 is
followed by a constant of four bytes. Only what a compiler puts in front of a kernel's body is walked over (loads of arguments,
scalar work, moves); anything else, a branch above all, ends the walk, and then nothing is said. Nor is it of what comes after GFX12.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST = 64  # instructions
LITERAL = 255
LONG_SOURCES = (LITERAL, 249, 250, 233, 234)  # a constant, SDWA, DPP: four more bytes
SOPP, SOP1, SOPC = 0x17F, 0x17D, 0x17E
SOPK, SOP2, VOP1 = 0xB, 2, 0x3F
LOADS = range(16)  # operations of SMEM that only read
BREAKPOINT = 3  # trap of debuggers, after which the kernel goes on


@dataclass(frozen=True)
class _Generation:
    trap: int  # operations of SOPP
    passes: tuple[int, ...]  # s_nop, s_waitcnt, s_clause and their kin: they only wait or hint
    jumps: range  # operations of SOP1 after which the walk would go on elsewhere
    settings: tuple[int, int]  # of SOPK: s_getreg and s_setreg
    setting: int  # of SOPK, with a constant behind it
    smem: int  # leading six bits
    load: tuple[int, int] = (18, 0xFF)  # where SMEM has its operation: bits to the right of it, and mask


_GENERATIONS = {
    9: _Generation(18, (0, 12), range(28, 35), (17, 18), 20, 0x30),
    10: _Generation(18, (0, 12, 32, 33), range(28, 35), (18, 19), 21, 0x3D),
    11: _Generation(16, (0, 4, 5, 7, 8, 9), range(71, 80), (17, 18), 19, 0x3D),
    12: _Generation(16, (0, 5, 7, 8, 10, *range(64, 74)), range(71, 96), (17, 18), 19, 0x3D, (13, 0x3F)),
}


def begins_with_trap(code: memoryview, generation: int) -> bool:
    """Is a trap the first thing that each thread comes to? False also where that cannot be said."""
    known = _GENERATIONS.get(generation)
    at = 0
    for _ in range(MOST if known else 0):
        if known is None or at + 4 > len(code):
            return False
        word = int.from_bytes(code[at : at + 4], "little")
        if word >> 23 == SOPP and (word >> 16 & 0x7F, word & 0xFF != BREAKPOINT) == (known.trap, True):
            return True
        size = size_of(word, known)
        if not size:
            return False
        at += size
    return False


def size_of(word: int, known: _Generation) -> int:
    """Bytes of an instruction that has no effect outside of its thread's registers; 0 for all others."""
    first, second = word & 0xFF, word >> 8 & 0xFF
    if word >> 23 == SOPP:
        return 4 if word >> 16 & 0x7F in known.passes else 0
    if word >> 23 == SOP1:
        return 0 if second in known.jumps else 8 if first == LITERAL else 4
    if word >> 28 == SOPK and word >> 23 != SOPC:
        return _of_sopk(word >> 23 & 0x1F, known)
    if word >> 30 == SOP2:  # and SOPC
        return 8 if LITERAL in (first, second) else 4
    if word >> 26 == known.smem:
        return 8 if word >> known.load[0] & known.load[1] in LOADS else 0
    if word >> 25 == VOP1:
        return 8 if word & 0x1FF in LONG_SOURCES else 4
    return 0


def _of_sopk(operation: int, known: _Generation) -> int:
    """Moves, compares, sums and settings of the hardware; calls end the walk."""
    if operation == known.setting:
        return 8
    return 4 if operation < 16 or operation in known.settings else 0
