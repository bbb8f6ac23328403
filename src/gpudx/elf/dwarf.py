"""Debug information of an object: functions, also inlined ones, files and lines.

DWARF 2 to 5. Split DWARF gives lines but not what was inlined; 64-bit DWARF and sections compressed with zstd give neither.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gpudx.elf.image import MASK, Image
from gpudx.text import printable

if TYPE_CHECKING:  # slow to import, and only lines of source need it
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DWARFInfo

# What is read of one object at most, so that no library, however large or damaged, takes more than seconds.
MOST_UNITS = 5_000  # compile units looked at one by one, where .debug_aranges does not cover them
MOST_UNIT_BYTES = 4 << 20  # .debug_info of one unit, searched for inlined functions
MOST_LINE_BYTES = 16 << 20  # the line program of one unit
MOST_DEPTH = 64  # of scopes in a function


@dataclass(frozen=True)
class _Lines:
    """The line table of one unit: row i holds from address[i] up to address[i + 1], unless it ends a sequence."""

    address: NDArray[np.uint64]
    file: NDArray[np.int64]
    line: NDArray[np.int64]
    ends: NDArray[np.bool_]
    files: tuple[str, ...]

    def source(self, address: int) -> str:
        """ "path:line" of an address, "" where the compiler gave no line."""
        at = np.uint64(address)
        rows = np.flatnonzero((self.address[:-1] <= at) & (at < self.address[1:]) & ~self.ends[:-1])
        return self.name(int(self.file[rows[-1]]), int(self.line[rows[-1]])) if len(rows) else ""

    def name(self, file: int, line: int) -> str:
        return f"{self.files[file]}:{line}" if 0 <= file < len(self.files) and line > 0 else ""


class _LineMachine:
    """Runs a line program (DWARF 5, section 6.2.5) and keeps its rows. Damaged programs end early."""

    def __init__(self, header: Any, program: bytes) -> None:
        self._program, self._at = program, 0
        self._base, self._range = int(header["opcode_base"]), int(header["line_range"]) or 1
        self._line_base, self._unit = int(header["line_base"]), int(header["minimum_instruction_length"])
        self._lengths = [int(n) for n in header["standard_opcode_lengths"]]
        self._sequence: list[tuple[int, int, int, bool]] = []
        self.rows: list[tuple[int, int, int, bool]] = []
        self._restart()

    def _restart(self) -> None:
        self._address, self._file, self._line = 0, 1, 1

    def _emit(self, ends: bool = False) -> None:
        self._sequence.append((self._address, self._file, self._line & 0xFFFFFFFF, ends))

    def run(self) -> None:
        """Ends with IndexError on a program that is damaged; the sequences before that place are kept."""
        program, size = self._program, len(self._program)
        while self._at < size:
            code = program[self._at]
            self._at += 1
            if code >= self._base:
                steps, lines = divmod(code - self._base, self._range)
                self._advance(steps)
                self._line += self._line_base + lines
                self._emit()
            elif code:
                self._standard(code)
            else:
                self._extended()

    def _advance(self, steps: int) -> None:
        self._address = (self._address + steps * self._unit) & MASK

    def _number(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._program[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise IndexError("a number of more than 64 bits")

    def _signed(self) -> int:
        begin = self._at
        value = self._number()
        bits = 7 * (self._at - begin)
        return value - (1 << bits) if value >> (bits - 1) else value

    def _fixed(self, size: int) -> int:
        self._at += size
        return int.from_bytes(self._program[self._at - size : self._at], "little")

    def _standard(self, code: int) -> None:
        match code:
            case 1:
                self._emit()
            case 2:
                self._advance(self._number())
            case 3:
                self._line += self._signed()
            case 4:
                self._file = self._number() & 0xFFFFFFFF
            case 8:
                self._advance((255 - self._base) // self._range)
            case 9:
                self._address = (self._address + self._fixed(2)) & MASK
            case _:  # the header says how many operands those take that do not matter here, or are not known
                for _ in range(self._lengths[code - 1]):
                    self._number()

    def _extended(self) -> None:
        size = self._number()
        end = self._at + size
        code = self._program[self._at] if size else 0
        self._at += 1
        if code == 1:
            self._end_sequence()
        elif code == 2:
            self._address = self._fixed(min(size - 1, 8))
        self._at = end

    def _end_sequence(self) -> None:
        """Code that the linker left out keeps its lines, at 0, ~0 or ~1: they would claim addresses of other code."""
        self._emit(ends=True)
        if 0 < self._sequence[0][0] < MASK - 1:
            self.rows += self._sequence
        self._sequence = []
        self._restart()


@dataclass(frozen=True)
class Unit:
    """Of one compile unit: where and how it was compiled, its files, and the MD5 of each where the compiler kept it (DWARF 5)."""

    folder: str
    producer: str
    files: tuple[str, ...]
    sums: tuple[str, ...]


@dataclass(frozen=True)
class Struct:
    """A struct of the program: its size, and the names of its members with their offsets, in bytes."""

    name: str
    size: int
    members: tuple[tuple[str, int], ...]
    source: str = ""  # "path:line" of its declaration


class Dwarf:
    """The debug information of one object. Only the unit that covers an address is decoded.

    Raises whatever pyelftools raises on damaged sections; `frames` and `units` are the ways in and let nothing out.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._lines: dict[int, _Lines | None] = {}
        self._functions: dict[int, list[tuple[int, int, DIE]]] = {}

    @cached_property
    def _info(self) -> DWARFInfo:
        from elftools.dwarf.dwarfinfo import DwarfConfig, DWARFInfo

        from gpudx.elf.abbreviations import LeanInfo

        # The sections wanted, and their order, differ between versions of pyelftools: its signature is the list.
        wanted = [name for name in inspect.signature(DWARFInfo).parameters if name.endswith("_sec")]
        sections: dict[str, Any] = {name: self._section("." + name.removesuffix("_sec")) for name in wanted}
        return LeanInfo(config=DwarfConfig(True, "x64", 8), **sections)

    def _section(self, name: str) -> DebugSectionDescriptor | None:
        stream = self._image.stream(name)
        if stream is None or not name.startswith(".debug_"):
            return None
        from elftools.dwarf.dwarfinfo import DebugSectionDescriptor

        size = stream.seek(0, os.SEEK_END)
        return DebugSectionDescriptor(stream, name, 0, size, 0)

    def frames(self, address: int) -> list[tuple[str, str]]:
        """(function, "path:line") at a linked address, innermost inlined function first. Either may be "".

        The function is "" where the unit is too large to be searched or has no description of it.
        """
        try:
            unit = self._unit(address)
            return self._frames(unit, address) if unit else []
        except Exception:  # pyelftools on damaged input: KeyError, AssertionError, its own, and more
            return []

    def _frames(self, unit: CompileUnit, address: int) -> list[tuple[str, str]]:
        lines = self._line_table(unit)
        at = lines.source(address) if lines else ""
        try:
            scopes = self._scopes(unit, address) if unit.size <= MOST_UNIT_BYTES else []
            found = []
            for scope in reversed(scopes):
                found.append((_function_name(scope), at))
                at = lines.name(_value(scope, "DW_AT_call_file"), _value(scope, "DW_AT_call_line")) if lines else ""
            return found or [("", at)]
        except Exception:  # the lines may be whole where the tree of functions is not
            return [("", at)]

    # ---- units ----

    @cached_property
    def _covered(self) -> tuple[NDArray[np.uint64], set[int]]:
        """Rows (begin, size, unit) of .debug_aranges, and the units it speaks of."""
        data, at = self._image.section(".debug_aranges"), 0
        rows, units = [np.zeros((0, 3), np.uint64)], set()
        while at + 12 <= len(data):
            wide = data[at : at + 4] == b"\xff\xff\xff\xff"
            begin, word = (at + 12, 8) if wide else (at + 4, 4)
            end = begin + int.from_bytes(data[begin - word : begin], "little")
            unit = int.from_bytes(data[begin + 2 : begin + 2 + word], "little")
            first = at + -(-(begin + word + 4 - at) // 16) * 16  # pairs are aligned to their own size
            if data[begin + 2 + word : begin + 4 + word] == b"\x08\x00" and first <= end <= len(data):
                pairs = np.frombuffer(data[first : end - (end - first) % 16], "<u8").reshape(-1, 2)
                rows.append(np.column_stack([pairs, np.full(len(pairs), unit, np.uint64)]))
                units.add(unit)
            at = max(end, at + 12)
        return np.concatenate(rows), units

    @cached_property
    def _uncovered(self) -> NDArray[np.uint64]:
        """The same for units that .debug_aranges leaves out: clang writes no such section."""
        rows = []
        for number, unit in enumerate(self._info.iter_CUs()):
            if number >= MOST_UNITS:
                break
            if unit.cu_offset not in self._covered[1]:
                ranges = _unit_ranges(unit)
                rows += [(low, high - low, unit.cu_offset) for low, high in ranges if 0 < low < high <= MASK]
        return np.array(rows, np.uint64).reshape(-1, 3)

    def _unit(self, address: int) -> CompileUnit | None:
        if ".debug_info" not in self._image.sections:
            return None
        found = _covering(self._covered[0], address)
        if found is None:
            found = _covering(self._uncovered, address)
        return self._info.get_CU_at(found) if found is not None else None

    # ---- units ----

    def units(self, most: int = MOST_UNITS) -> Iterator[Unit]:
        """What each unit says of its making. Ends at what is damaged."""
        if ".debug_info" not in self._image.sections:
            return
        with suppress(Exception):
            for unit in islice(self._info.iter_CUs(), most):
                top, program = unit.get_top_DIE(), self._info.line_program_for_CU(unit)
                folder = _string(top, "DW_AT_comp_dir")
                files = _files(program.header, folder) if program else ()
                yield Unit(
                    folder, _string(top, "DW_AT_producer"), files, _sums(program.header, len(files)) if program else ()
                )

    def lines_of(self, name: str) -> set[int]:
        """The lines for which there is code, of files whose path ends in `name`."""
        found: set[int] = set()
        if ".debug_info" not in self._image.sections:
            return found
        with suppress(Exception):
            for unit in islice(self._info.iter_CUs(), MOST_UNITS):
                program = self._info.line_program_for_CU(unit)
                files = _files(program.header, _string(unit.get_top_DIE(), "DW_AT_comp_dir")) if program else ()
                mine = {n for n, path in enumerate(files) if path == name or path.endswith("/" + name)}
                table = self._line_table(unit) if mine else None
                if table:
                    found |= {int(line) for line in table.line[np.isin(table.file, list(mine)) & ~table.ends]}
        return found

    def struct(self, address: int, name: str) -> Struct | None:
        """A struct or a typedef of one, as the unit that covers an address declares it."""
        with suppress(Exception):
            unit = self._unit(address)
            if unit is not None and unit.size <= MOST_UNIT_BYTES:
                lines = self._line_table(unit)
                found = (_struct(die, name, lines) for die in _types(unit, name))
                return next((one for one in found if one is not None), None)
        return None

    # ---- lines ----

    def _line_table(self, unit: CompileUnit) -> _Lines | None:
        if unit.cu_offset not in self._lines:
            self._lines[unit.cu_offset] = None  # stays, where decoding fails: the functions may be whole
            with suppress(Exception):
                self._lines[unit.cu_offset] = self._decode_lines(unit)
        return self._lines[unit.cu_offset]

    def _decode_lines(self, unit: CompileUnit) -> _Lines | None:
        program = self._info.line_program_for_CU(unit)
        if program is None:
            return None
        begin, end = program.program_start_offset, program.program_end_offset
        if not 0 <= end - begin <= MOST_LINE_BYTES:
            return None
        program.stream.seek(begin)
        machine = _LineMachine(program.header, program.stream.read(end - begin))
        with suppress(IndexError):
            machine.run()
        columns = list(zip(*machine.rows, strict=True)) or [(), (), (), ()]
        return _Lines(
            np.array(columns[0], np.uint64),
            np.array(columns[1], np.int64),
            np.array(columns[2], np.int64),
            np.array(columns[3], np.bool_),
            _files(program.header, _string(unit.get_top_DIE(), "DW_AT_comp_dir")),
        )

    # ---- functions ----

    def _scopes(self, unit: CompileUnit, address: int) -> list[DIE]:
        """The function that covers an address, then what was inlined there, outermost first."""
        if unit.cu_offset not in self._functions:
            self._functions[unit.cu_offset] = list(_functions(unit))
        inside = next((die for low, high, die in self._functions[unit.cu_offset] if low <= address < high), None)
        found: list[DIE] = []
        while inside is not None and len(found) < MOST_DEPTH:
            if inside.tag in _FUNCTIONS:
                # A function inside a function (Fortran, GNU C) is not inlined into it: only the inner one runs.
                found = [inside] if inside.tag == "DW_TAG_subprogram" else [*found, inside]
            scopes = (die for die in _children(unit, inside) if die.tag in _SCOPES)
            inside = next((die for die in scopes if _covers(die, address)), None)
        return found


_FUNCTIONS = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
_SCOPES = (*_FUNCTIONS, "DW_TAG_lexical_block", "DW_TAG_try_block", "DW_TAG_catch_block")


def _functions(unit: CompileUnit) -> Iterator[tuple[int, int, DIE]]:
    """(low, high, function) of each stretch of code of a unit's functions, through namespaces."""
    waiting = [unit.get_top_DIE()]
    while waiting:
        for child in _children(unit, waiting.pop()):
            if child.tag in ("DW_TAG_namespace", "DW_TAG_module"):
                waiting.append(child)
            elif child.tag == "DW_TAG_subprogram":
                yield from ((low, high, child) for low, high in _ranges(child) if low)


_STRUCTS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_typedef")


def _types(unit: CompileUnit, name: str) -> Iterator[DIE]:
    """Structs and typedefs of this name, of the unit, its namespaces and its functions."""
    waiting = [unit.get_top_DIE()]
    while waiting:
        for child in _children(unit, waiting.pop()):
            if child.tag in ("DW_TAG_namespace", "DW_TAG_module", "DW_TAG_subprogram"):
                waiting.append(child)
            elif child.tag in _STRUCTS and _string(child, "DW_AT_name") == name:
                yield child


def _struct(die: DIE, name: str, lines: _Lines | None) -> Struct | None:
    for _ in range(4):
        if die.tag != "DW_TAG_typedef" or "DW_AT_type" not in die.attributes:
            break
        die = die.get_DIE_from_attribute("DW_AT_type")
    if die.tag not in _STRUCTS or not _value(die, "DW_AT_byte_size"):
        return None
    members = [one for one in die.iter_children() if one.tag == "DW_TAG_member"]
    offsets = tuple((_string(one, "DW_AT_name"), _value(one, "DW_AT_data_member_location")) for one in members)
    source = lines.name(_value(die, "DW_AT_decl_file"), _value(die, "DW_AT_decl_line")) if lines else ""
    return Struct(name, _value(die, "DW_AT_byte_size"), offsets, source)


def _covers(die: DIE, address: int) -> bool:
    return any(low <= address < high for low, high in _ranges(die))


def _covering(rows: NDArray[np.uint64], address: int) -> int | None:
    """The unit whose range holds an address; of several the smallest. Ranges at 0 were left out by the linker."""
    at = np.uint64(address)
    inside = rows[(rows[:, 0] != 0) & (rows[:, 0] <= at)]
    inside = inside[(at - inside[:, 0]) < inside[:, 1]]
    return int(inside[np.argmin(inside[:, 1]), 2]) if len(inside) else None


def _children(unit: CompileUnit, die: DIE) -> Iterator[DIE]:
    """Direct children. Walks forward only, so that damaged references cannot make it run for ever."""
    at, end = die.offset + die.size, unit.cu_offset + unit.size
    while die.has_children and at < end:
        child = unit.get_DIE_from_refaddr(at)
        if child.is_null():
            return
        yield child
        at = _after(unit, child)


def _after(unit: CompileUnit, die: DIE) -> int:
    """Where the entry behind `die` and all that is inside it begins."""
    at, depth = die.offset + die.size, 1 if die.has_children else 0
    while depth:
        sibling = die.attributes.get("DW_AT_sibling") if die.has_children else None
        if sibling is not None and unit.cu_offset + int(sibling.value) >= at:
            at, depth = unit.cu_offset + int(sibling.value), depth - 1
            if not depth:
                return at
        die = unit.get_DIE_from_refaddr(at)
        at += die.size
        depth += -1 if die.is_null() else int(bool(die.has_children))
    return at


def _ranges(die: DIE) -> list[tuple[int, int]]:
    """The stretches [low, high) of code that belong to an entry."""
    low, high = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
    if low is not None and high is not None:
        relative = not (high.form == "DW_FORM_addr" or "addrx" in high.form)
        return [(low.value, low.value + high.value if relative else high.value)]
    listed = die.attributes.get("DW_AT_ranges")
    lists = die.dwarfinfo.range_lists() if listed is not None else None
    if listed is None or lists is None:
        return []
    from elftools.dwarf.ranges import BaseAddressEntry

    base, found = _value(die.cu.get_top_DIE(), "DW_AT_low_pc"), []
    for entry in lists.get_range_list_at_offset(listed.value, cast("CompileUnit", die.cu)):
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        else:
            shift = 0 if entry.is_absolute else base
            found.append((entry.begin_offset + shift, entry.end_offset + shift))
    return found


def _unit_ranges(unit: CompileUnit) -> list[tuple[int, int]]:
    try:
        return _ranges(unit.get_top_DIE())
    except Exception:  # one damaged unit must not hide the others
        return []


def _value(die: DIE, name: str) -> int:
    found = die.attributes.get(name)
    return found.value if found is not None and isinstance(found.value, int) else 0


def _string(die: DIE, name: str) -> str:
    found = die.attributes.get(name)
    return _decode(found.value) if found is not None and isinstance(found.value, bytes) else ""


def _function_name(die: DIE) -> str:
    """The linker's name if there is one (C++), else the name; both may stand at the declaration."""
    linkage, plain = "", ""
    for _ in range(4):
        linkage = linkage or _string(die, "DW_AT_linkage_name") or _string(die, "DW_AT_MIPS_linkage_name")
        plain = plain or _string(die, "DW_AT_name")
        link = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in die.attributes), None)
        if link is None:
            break
        die = die.get_DIE_from_attribute(link)
    return linkage or plain


def _files(header: Any, directory: str) -> tuple[str, ...]:
    """Paths by file number. Before DWARF 5 files count from 1 and directory 0 is that of the compiler."""
    old = int(header["version"]) < 5
    folders = [_decode(d) for d in header["include_directory"]]
    folders = ["", *folders] if old else folders
    found = [""] if old else []
    for entry in header["file_entry"]:
        folder = folders[entry.dir_index] if entry.dir_index < len(folders) else ""
        found.append(os.path.normpath(os.path.join(directory, folder, _decode(entry.name))))
    return tuple(found)


def _sums(header: Any, count: int) -> tuple[str, ...]:
    """The MD5 of each file, in hexadecimal; "" where there is none (DWARF 5, section 6.2.4.1, DW_LNCT_MD5)."""
    if int(header["version"]) < 5:
        return ("",) * count
    return tuple(bytes(entry.get("DW_LNCT_MD5") or b"").hex() for entry in header["file_names"])


def _decode(name: Any) -> str:
    return printable(name.decode("utf-8", "replace")) if isinstance(name, bytes) else "?"
