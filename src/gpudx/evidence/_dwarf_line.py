"""Which source line a program counter belongs to: the DWARF line program of a device image.

Built with line information, device images carry .debug_line in DWARF version 2 (section 6.2 of the DWARF standard,
read here up to version 4), with addresses already relocated in the images of a core dump. The program for one function
is found by the address that it starts with, so that an image with megabytes of line programs costs one search.

NVIDIA's compilers mark rows of inlined code with the row of the call (an extended operation, 0x90: number of that row from 1 on, 0 for
none, and a name), which holds until the next mark; checked against what nvdisasm -gi 13.0 prints. Of inlined code the innermost line that
is not of a toolkit's header is given. Not read: version 5 tables.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.text.places import is_installed

COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS, INLINED_AT = 1, 2, 0x90
VERSIONS = (2, 3, 4)
MOST_FILES = 100_000
MOST_INLINED = 64
_Row = tuple[int, int, int]  # file, line, and the row of the call of inlined code


@dataclass(frozen=True)
class SourceLine:
    """A file as the compiler named it, and a line, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def source_line(data: bytes, function: int, pc: int) -> SourceLine | None:
    """The line of `pc` in the code that starts at address `function`; None when the table does not say."""
    needle = b"\x00\x09\x02" + struct.pack("<Q", function)  # "set address", as every sequence begins
    try:
        for unit in _units(data):
            for at in _occurrences(data, needle, unit.program, unit.end):
                found = unit.row(data, at + len(needle), function, pc)
                if found:
                    return found
    except (IndexError, struct.error):
        return None  # cut off in the middle
    return None


def _occurrences(data: bytes, needle: bytes, start: int, end: int) -> Iterator[int]:
    at = data.find(needle, start, end)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1, end)


@dataclass(frozen=True)
class _Unit:
    program: int
    end: int
    step: int  # minimum instruction length
    line_base: int
    line_range: int
    lengths: tuple[int, ...]  # operands of the standard opcodes
    files: tuple[str, ...]

    def row(self, data: bytes, at: int, address: int, pc: int) -> SourceLine | None:
        """Runs one sequence from `at` until it passes `pc`."""
        first_special, file, line, called, previous = len(self.lengths) + 1, 1, 1, 0, None
        rows: list[_Row] = []
        while at < self.end:
            op, at, emit, done = data[at], at + 1, False, False
            if op >= first_special:
                moved, stepped = divmod(op - first_special, self.line_range)
                address, line, emit = address + moved * self.step, line + self.line_base + stepped, True
            elif op == 0:
                length, at = _uleb(data, at)
                done, emit = data[at] == END_SEQUENCE, data[at] == END_SEQUENCE
                address = struct.unpack_from("<Q", data, at + 1)[0] if data[at] == SET_ADDRESS else address
                called = _uleb(data, at + 1)[0] if data[at] == INLINED_AT else called
                at += length
            elif op == COPY:
                emit = True
            elif op == ADVANCE_LINE:
                delta, at = _sleb(data, at)
                line += delta
            elif op == CONST_ADD_PC:
                address += (255 - first_special) // self.line_range * self.step
            elif op == FIXED_ADVANCE_PC:
                address, at = address + struct.unpack_from("<H", data, at)[0], at + 2
            else:
                value, at = _operands(data, at, self.lengths[op - 1])
                address += value * self.step if op == ADVANCE_PC else 0
                file = value if op == SET_FILE else file
            if emit:
                if previous is not None and previous <= pc < address:
                    return self._own(rows)
                previous = address
                rows.append((file, line, called))
            if done:
                return None
        return None

    def _own(self, rows: list[_Row]) -> SourceLine | None:
        """The line of the last row, or of the call that put it there if it is a toolkit's."""
        at, inner, seen = len(rows), None, 0
        while 0 < at <= len(rows) and seen < MOST_INLINED:
            file, line, at = rows[at - 1]
            found, seen = self._line(file, line), seen + 1
            inner = inner or found
            if found and not is_installed(found.file):
                return found
        return inner

    def _line(self, file: int, line: int) -> SourceLine | None:
        known = 1 <= file <= len(self.files) and line > 0
        return SourceLine(self.files[file - 1], line) if known else None


def _units(data: bytes) -> Iterator[_Unit]:
    at = 0
    while at + 10 < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        if length == 0 or length >= 0xFFFFFFF0:
            return  # padding, or the 64-bit format, which device compilers do not write
        end = min(at + 4 + length, len(data))
        (version,) = struct.unpack_from("<H", data, at + 4)
        unit = _unit(data, at + 6, end, version) if version in VERSIONS else None
        if unit:
            yield unit
        at = end


def _unit(data: bytes, at: int, end: int, version: int) -> _Unit | None:
    (header,) = struct.unpack_from("<I", data, at)
    program = at + 4 + header
    step, at = data[at + 4], at + (6 if version >= 4 else 5)
    line_base, line_range, first_special = struct.unpack_from("<bBB", data, at + 1)
    lengths = tuple(data[at + 4 : at + 3 + first_special])
    if not line_range or not first_special or program > end or len(lengths) != first_special - 1:
        return None
    return _Unit(program, end, step, line_base, line_range, lengths, _files(data, at + 4 + len(lengths), program))


def _files(data: bytes, at: int, end: int) -> tuple[str, ...]:
    """File names with their directories."""
    directories: list[str] = [""]
    files: list[str] = []
    text, at = _text(data, at, end)
    while text:
        directories.append(text)
        text, at = _text(data, at, end)
    text, at = _text(data, at, end)
    while text and len(files) < MOST_FILES:
        directory, at = _uleb(data, at)
        _, at = _uleb(data, at)
        _, at = _uleb(data, at)
        place = directories[directory] if directory < len(directories) else ""
        files.append(text if text.startswith("/") or not place else f"{place}/{text}")
        text, at = _text(data, at, end)
    return tuple(files)


def _text(data: bytes, at: int, end: int) -> tuple[str, int]:
    stop = data.find(b"\0", at, end)
    if stop < 0:
        return "", end
    return data[at:stop].decode("utf-8", "replace"), stop + 1


def _operands(data: bytes, at: int, count: int) -> tuple[int, int]:
    """The first of `count` unsigned operands, and where they end."""
    first = 0
    for index in range(count):
        value, at = _uleb(data, at)
        first = first if index else value
    return first, at


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << min(shift, 63)
        shift += 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def _sleb(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = _uleb(data, at)
    bits = 7 * (at - start)
    negative = bool(data[at - 1] & 0x40)
    return (value - (1 << min(bits, 64)) if negative else value), at
