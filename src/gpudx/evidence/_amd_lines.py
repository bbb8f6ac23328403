"""Which source line an address of a code object belongs to, by its line table (DWARF, 6.2), of any version that pyelftools reads."""

from __future__ import annotations

import io

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from gpudx.evidence._dwarf_line import SourceLine


def source_line(code_object: bytes, address: int) -> SourceLine | None:
    """The line of an address, as the code object counts: what is loaded at B has pc - B. None where nothing is told."""
    try:
        elf = ELFFile(io.BytesIO(code_object))
        dwarf = elf.get_dwarf_info() if elf.has_dwarf_info() else None
        if dwarf is None:
            return None
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program and (found := _row(program, address)):
                return found
    except (ELFError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError):
        return None  # damaged, or a form that is not known
    return None


def _row(program: object, address: int) -> SourceLine | None:
    before = None
    for entry in program.get_entries():  # type: ignore[attr-defined]
        state = entry.state
        if state is None:
            continue
        if before is not None and before.address <= address < state.address and before.line:
            return SourceLine(_file(program, before.file), before.line)
        before = None if state.end_sequence else state
    return None


def _file(program: object, number: int) -> str:
    """Files count from 1 before DWARF 5, and from 0 since."""
    header = program.header  # type: ignore[attr-defined]
    files = header["file_entry"]
    at = number if header["version"] >= 5 else number - 1
    name = files[at].name if 0 <= at < len(files) else b"?"
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
