"""Numbers of logs, decoded: an address that is no address often says what it was before it was used as one."""

from __future__ import annotations

import math
import struct

PAGE = 4096
USER = 1 << 47  # x86-64 and AArch64 give user programs addresses below this, or one bit more
MARKS = {
    0xCBCBCBCB: "the byte 0xcb, which gpudx --poison writes",
    0xDEADBEEF: "0xdeadbeef, a mark for memory that is not to be used",
    0xCDCDCDCD: "the byte 0xcd, which debug allocators write into fresh memory",
    0xDDDDDDDD: "the byte 0xdd, which debug allocators write into freed memory",
    0xABABABAB: "the byte 0xab, which debug allocators write after a block",
    0xBEBEBEBE: "the byte 0xbe, which AddressSanitizer writes into fresh memory",
}


def address(value: int) -> str:
    """What a fault address says by itself; "" when it looks like an ordinary one."""
    if value < PAGE:
        offset = f" plus {value:,} bytes: a field or element of nothing" if value else ": a null pointer"
        return f"address {value:#x} is null{offset}"
    if value & 0xFFFFFFFF in MARKS and value >> 32 in (0, value & 0xFFFFFFFF):
        return f"address {value:#x} is {MARKS[value & 0xFFFFFFFF]}"
    if value < 1 << 32:
        return (
            f"address {value:#x} is too small for a pointer: a size, count or handle was used as one ({_nearby(value)})"
        )
    if value >= USER << 1:
        return _strange(value)
    return ""


def _nearby(value: int) -> str:
    """A number with its round neighbour: a fault is often a few bytes behind what was taken for a pointer."""
    round_ = value & ~0xFF
    behind = f" plus {value - round_:,}" if value - round_ and value - round_ <= 64 else ""
    return f"{size(round_ if behind else value)}{behind}"


def size(value: int) -> str:
    """ "294,912 = 9 * 2^15"."""
    power = (value & -value).bit_length() - 1 if value > 0 else 0
    odd = value >> power
    if power < 4:
        return f"{value:,}"
    return f"{value:,} = 2^{power}" if odd == 1 else f"{value:,} = {odd:,} * 2^{power}"


def _strange(value: int) -> str:
    """Above what user programs are given: data, or a negative number."""
    if value >= (1 << 64) - (1 << 40):
        return f"address {value:#x} is the negative number {value - (1 << 64):,}"
    raw = struct.pack("<Q", value & (1 << 64) - 1)
    if all(32 <= byte < 127 for byte in raw):
        return f"address {value:#x} is the text {raw.decode()!r}: data was used as a pointer"
    floats = struct.unpack("<2f", raw)
    if all(math.isfinite(one) and 1e-6 < abs(one) < 1e6 for one in floats):
        return f"address {value:#x} is the floats {floats[0]:g} and {floats[1]:g}: data was used as a pointer"
    return f"address {value:#x} is beyond what programs are given: a damaged pointer, or an index that overflowed"


def page(value: int) -> str:
    """What a page address does not say."""
    return "the address is that of a whole page: the access itself is somewhere in it" if span(value) == PAGE else ""


def span(value: int) -> int:
    """How many bytes from a told address on the access may be in: of a page, all."""
    return PAGE if value % PAGE == 0 and value else 1
