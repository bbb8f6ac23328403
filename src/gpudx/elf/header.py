"""The header of ELF files, and whether a file was written to its end. Without numpy: gpudx asks while a program runs, and numpy
starts threads that would take signals meant for the program.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

HEADER = 64
SECTION = 64  # bytes of one entry of the section table


class BadElf(ValueError):
    """Not an ELF file, or one without a whole section table. The text says which, as part of a sentence."""


@dataclass(frozen=True)
class Ident:
    """What the first 64 bytes say."""

    abi: int
    type: int
    machine: int
    table: int  # offset of the section table
    entry: int  # size of one entry of it
    count: int  # 0: look into section 0
    names: int  # 0xffff: look into section 0


def ident(head: bytes | memoryview) -> Ident:
    """The file header. Raises BadElf for anything but a 64-bit little-endian ELF file."""
    if len(head) < HEADER:
        raise BadElf("is shorter than an ELF header")
    if bytes(head[:6]) != b"\x7fELF\x02\x01":
        raise BadElf("is not a 64-bit little-endian ELF file")
    kind, machine = struct.unpack_from("<HH", head, 16)
    (table,) = struct.unpack_from("<Q", head, 40)
    entry, count, names = struct.unpack_from("<HHH", head, 58)
    return Ident(head[7], kind, machine, table, entry, count, names)


def is_complete(path: Path | str) -> bool:
    """Whether a file whose section table is written last has been written to its end. False for what is no ELF file."""
    try:
        with open(path, "rb") as file:
            return _complete(file.fileno())
    except (OSError, BadElf, struct.error, OverflowError):
        return False


def _complete(descriptor: int) -> bool:
    head = ident(os.pread(descriptor, HEADER, 0))
    if not head.table or head.entry != SECTION:
        return False
    count = head.count or struct.unpack("<Q", os.pread(descriptor, 8, head.table + 32))[0]
    end = head.table + count * SECTION
    if not count or end > os.fstat(descriptor).st_size:
        return False
    return any(os.pread(descriptor, SECTION, end - SECTION))
