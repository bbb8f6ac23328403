"""Device code images (cubins) as a core dump holds them: where a program counter is, in the code and in the source.

The relocated images carry the addresses at which the code ran. Functions that were never loaded stand at address 0 in
them. Section and symbol layout are plain ELF; each kernel has its own .text section, which also holds the helper
functions that the compiler put beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.backends.mangling import demangle, function_name
from gpudx.elf.layout import SYM
from gpudx.elf.sections import SYMTAB, Elf, Ints, Table, text_at
from gpudx.evidence._dwarf_line import source_line

EXECUTABLE = 4  # SHF_EXECINSTR
FUNCTION = 2  # STT_FUNC
MOST_SYMBOLS = 2_000_000


@dataclass(frozen=True)
class Place:
    """A program counter: function, offset in it, and "file:line" when the code was built with line information."""

    pc: int
    mangled: str
    offset: int
    source: str | None = None

    @property
    def function(self) -> str:
        """The signature as the source spells it, or the mangled name."""
        return demangle(self.mangled)

    @property
    def name(self) -> str:
        """The function's name without parameters."""
        return function_name(self.mangled)

    def __str__(self) -> str:
        return f"{self.name}+{self.offset:#x}" + (f" ({self.source})" if self.source else "")


class Image:
    """One relocated image. Raises BadElf when it is none."""

    def __init__(self, data: memoryview) -> None:
        self.elf = Elf(data)

    @cached_property
    def _texts(self) -> Ints:
        sections = self.elf.sections
        wanted = (sections["flags"] & EXECUTABLE > 0) & (sections["addr"] > 0) & self.elf.whole
        return np.flatnonzero(wanted).astype(np.int64)

    def section(self, pc: int) -> int | None:
        """The code section that a program counter lies in."""
        rows = self.elf.sections[self._texts]
        address = np.uint64(pc)
        inside = (rows["addr"] <= address) & (address - rows["addr"] < rows["size"])
        found = self._texts[inside]
        return int(found[0]) if len(found) else None

    def start(self, section: int) -> int:
        return int(self.elf.sections["addr"][section])

    @cached_property
    def _symbols(self) -> tuple[Table, memoryview]:
        for index in self.elf.of_type(SYMTAB):
            table = self.elf.rows(int(index), SYM, SYM.itemsize, MOST_SYMBOLS)
            functions = table[(table["info"] & 15 == FUNCTION) & (table["value"] > 0)]
            return functions, self.elf.bytes_of(int(self.elf.sections["link"][index]))
        return np.zeros(0, SYM), self.elf.data[:0]

    @cached_property
    def _lines(self) -> bytes:
        return bytes(self.elf.named(".debug_line"))

    def place(self, pc: int) -> Place | None:
        """The innermost function that covers a program counter, else the section's own name."""
        section = self.section(pc)
        if section is None:
            return None
        functions, names = self._symbols
        address = np.uint64(pc)
        near = functions[(functions["value"] <= address) & (address - functions["value"] < functions["size"])]
        if len(near):
            best = near[np.argmax(near["value"])]
            name, start = text_at(names, int(best["name"])), int(best["value"])
        else:
            name, start = self.elf.name(section).removeprefix(".text."), self.start(section)
        line = source_line(self._lines, self.start(section), pc)
        return Place(pc, name, pc - start, str(line) if line else None)

    def code(self, pc: int) -> tuple[memoryview, int] | None:
        """The instructions around a program counter, and the address of the first."""
        section = self.section(pc)
        return (self.elf.bytes_of(section), self.start(section)) if section is not None else None
