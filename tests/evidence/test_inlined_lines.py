"""Of device code that a toolkit's header put there, the program's own line is given (the mark was seen in what nvcc 13.0 writes)."""

from __future__ import annotations

import struct

import pytest

from gpudx.evidence._dwarf_line import source_line

START = 0x1000
FILES = ("/src/k.cu", "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/cooperative_groups.h", "/src/own.h")


def table(rows: list[tuple[int, int, int, int]]) -> bytes:
    """Rows of (offset, file, line, the row that it was inlined at)."""
    files = b"\0" + b"".join(name.encode() + b"\0\0\0\0" for name in FILES) + b"\0"
    header = bytes([1, 1, 0xFB, 14, 10]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + files
    program, offset, line = b"\x00\x09\x02" + struct.pack("<Q", START), 0, 1
    for where, file, number, called in rows:
        program += bytes([0, 3, 0x90, called, 0])  # a context, and a name
        program += bytes([4, file, 2, where - offset, 3, number - line & 0x7F, 1])
        offset, line = where, number
    program += bytes([2, 16, 0, 1, 1])
    body = struct.pack("<HI", 2, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


ROWS = [(0, 1, 6, 0), (16, 1, 10, 0), (16, 2, 40, 2), (16, 2, 38, 3), (32, 3, 5, 2), (48, 2, 33, 0)]


@pytest.mark.parametrize(
    ("pc", "line"),
    [
        (0, "/src/k.cu:6"),
        (16, "/src/k.cu:10"),  # twice inlined from a header of the toolkit
        (32, "/src/own.h:5"),  # a header of the program is its own
        (48, f"{FILES[1]}:33"),  # nothing else is known
    ],
)
def test_a_toolkit_header_is_passed_over(pc: int, line: str) -> None:
    assert str(source_line(table(ROWS), START, START + pc)) == line


def test_rows_that_name_themselves_end() -> None:
    assert source_line(table([(0, 2, 33, 1)]), START, START) is not None
