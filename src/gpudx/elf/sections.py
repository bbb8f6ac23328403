"""Sections of ELF files as one numpy table: 64-bit, little-endian, for files that may be cut off or hostile.

Layout from the System V ABI (gABI 4.1, chapter 4). A count of sections that does not fit into 16 bits stands in the
size of section 0, and the index of the name table in its link; GPU core dumps of busy devices need both.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpudx.elf.header import HEADER, BadElf, ident
from gpudx.elf.layout import SHDR

Table = npt.NDArray[np.void]
Ints = npt.NDArray[np.int64]

NOBITS, STRTAB, SYMTAB = 8, 3, 2
LONGEST_NAME = 4096  # a mangled name of a deeply nested template is long, a hostile one is endless


class Elf:
    """Read access to the sections of a buffer; nothing is copied but what is asked for.

    Sections that reach past the end of the buffer are cut to what is there: `whole` tells them apart.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.ident = ident(data[:HEADER])
        self.sections = self._sections()

    def _sections(self) -> Table:
        head = self.ident
        if head.entry != SHDR.itemsize or not head.table:
            raise BadElf("has no section table; it was not written to its end")
        first = self._table(head.table, 1)
        count = head.count or int(first["size"][0])
        return self._table(head.table, count)

    def _table(self, offset: int, count: int) -> Table:
        end = offset + count * SHDR.itemsize
        if end > len(self.data):
            raise BadElf(
                f"was cut off: its section table should end at byte {end:,}, but the file has {len(self.data):,} bytes"
            )
        return np.frombuffer(self.data[offset:end], dtype=SHDR)

    def __len__(self) -> int:
        return len(self.sections)

    @cached_property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Which sections lie within the buffer."""
        offset, size = self.sections["offset"], self.sections["size"]
        room = np.uint64(len(self.data))
        fits = (offset <= room) & (size <= room - np.minimum(offset, room))
        return np.asarray(fits | (self.sections["type"] == NOBITS), dtype=np.bool_)

    def bytes_of(self, index: int) -> memoryview:
        """The content of a section, cut to what the buffer holds; empty for sections without content in the file."""
        if not 0 <= index < len(self.sections) or self.sections["type"][index] == NOBITS:
            return self.data[:0]
        start = min(int(self.sections["offset"][index]), len(self.data))
        return self.data[start : start + int(self.sections["size"][index])]

    def of_type(self, kind: int) -> Ints:
        """Indexes of the sections of one type, in file order."""
        return np.flatnonzero(self.sections["type"] == kind).astype(np.int64)

    def rows(self, index: int, dtype: np.dtype[np.void], least: int, most: int) -> Table:
        """A section as a table: newer fields that an older writer left out are zero, unknown newer ones are dropped.

        `least` is the size of an entry in the format's first version; smaller entries give no rows, and at most
        `most` rows are read.
        """
        size = int(self.sections["entsize"][index]) or dtype.itemsize
        content = self.bytes_of(index)
        count = min(len(content) // size, most) if size >= least else 0
        table = np.zeros(count, dtype=dtype)
        if count:
            raw = np.frombuffer(content[: count * size], dtype=np.uint8).reshape(count, size)
            used = min(size, dtype.itemsize)
            table.view(np.uint8).reshape(count, dtype.itemsize)[:, :used] = raw[:, :used]
        return table

    @cached_property
    def _names(self) -> memoryview:
        index = self.ident.names
        if index == 0xFFFF and len(self.sections):
            index = int(self.sections["link"][0])
        return self.bytes_of(index)

    def name(self, index: int) -> str:
        return text_at(self._names, int(self.sections["name"][index]))

    @cached_property
    def by_name(self) -> dict[str, int]:
        """First section of each name. For images with few sections; a core dump may have a million."""
        found: dict[str, int] = {}
        for index in range(len(self.sections)):
            found.setdefault(self.name(index), index)
        return found

    def named(self, name: str) -> memoryview:
        """The content of the first section of that name, empty when there is none."""
        return self.bytes_of(self.by_name.get(name, -1))


def text_at(strings: memoryview, offset: int) -> str:
    """The zero-terminated text at an offset of a string table; "" outside it, cut when endless."""
    if not 0 <= offset < len(strings):
        return ""
    return bytes(strings[offset : offset + LONGEST_NAME]).split(b"\0", 1)[0].decode("utf-8", "replace")
