"""Names for addresses of the program: object, function, file and line, and what kind of memory a pointer points to.

All of it comes from /proc/PID/maps as the recorder kept it, and from the objects it names as they are on disk now. An
object that was rebuilt after the run gives wrong names, which cannot be noticed here; one that is missing, deleted or
damaged gives its path and an offset, never an exception.

Limits: ELF of 64 bits, little-endian. Lines need DWARF 2 to 5, in the object or in its separate debug file; split
DWARF gives lines but not what was inlined, 64-bit DWARF and sections compressed with zstd give neither. A function is
named only where a symbol covers the address: in a stripped library the nearest symbol before it is another function.
"""

from __future__ import annotations

import inspect
import io
import os
import re
import stat
import weakref
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gpudx.elf.layout import EHDR, ELF64_LITTLE, PHDR, SHDR, SYM

if TYPE_CHECKING:  # slow to import, and only lines of source need it
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DWARFInfo

DEBUG_ROOT = Path("/usr/lib/debug")
MASK = (1 << 64) - 1
# What is read of one object at most, so that no library, however large or damaged, takes more than seconds.
MOST_TABLE_BYTES = 512 << 20  # a symbol table, a string table, a decompressed section
MOST_UNITS = 5_000  # compile units looked at one by one, where .debug_aranges does not cover them
MOST_UNIT_BYTES = 4 << 20  # .debug_info of one unit, searched for inlined functions
MOST_LINE_BYTES = 16 << 20  # the line program of one unit
MOST_DEPTH = 64  # of scopes in a function
PAGE = 4096

PT_LOAD, PT_GNU_EH_FRAME, PF_X = 1, 0x6474E550, 1
SHT_NOBITS, SHF_COMPRESSED, ZLIB = 8, 0x800, 1
STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC, STB_LOCAL = 0, 2, 10, 0


# ---- maps ----

_LINE = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([r-][w-][x-][sp-]) ([0-9a-f]{1,16}) \S+ \d+ *(.*)")
_DELETED = " (deleted)"
# Files without a name on any disk: shared anonymous memory in the kernel's words.
_NAMELESS = ("/memfd:", "/SYSV", "/dev/zero")


@dataclass(frozen=True)
class Mapping:
    """One line of /proc/PID/maps. `path` is "" for anonymous memory, or a name in brackets such as [heap]."""

    start: int
    end: int
    access: str
    offset: int
    path: str
    deleted: bool = False

    @property
    def executable(self) -> bool:
        return "x" in self.access

    @property
    def is_file(self) -> bool:
        return self.path.startswith("/") and not (self.deleted and self.path.startswith(_NAMELESS))


def _parse_line(line: str) -> Mapping | None:
    match = _LINE.fullmatch(line.rstrip())
    if not match:
        return None
    start, end, access, offset, path = match.groups()
    if int(start, 16) >= int(end, 16):
        return None
    path = path.replace("\\012", "\n")
    deleted = path.endswith(_DELETED) and not os.path.lexists(path)
    path = path.removesuffix(_DELETED) if deleted else path
    return Mapping(int(start, 16), int(end, 16), access, int(offset, 16), path, deleted)


def parse_maps(text: str) -> list[Mapping]:
    """The mappings of a text in the format of /proc/PID/maps, by address. Lines that make no sense are left out."""
    found = (_parse_line(line) for line in text.split("\n"))
    return sorted((m for m in found if m), key=lambda m: m.start)


# ---- objects ----


class Image:
    """An ELF object on disk. Addresses are those it was linked for. Reading outside of it gives short or no bytes.

    It is read, not mapped: an object that is rewritten meanwhile gives garbage, not a signal.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self._size = os.fstat(descriptor).st_size
        self._header = self._records(0, 1, EHDR)
        if not len(self._header) or self._header["magic"][0] != ELF64_LITTLE:
            raise ValueError("not an ELF object of 64 bits, little-endian")
        self.segments = self._headers("ph", PHDR)

    @staticmethod
    def open(path: str) -> Image | None:
        """The object at `path`, None where there is none. Devices and pipes are not opened: that may do something."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return None
            return Image(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
        except (OSError, ValueError):
            return None

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the file; fewer at its end, none outside of it."""
        room = min(size, self._size - offset, MOST_TABLE_BYTES)
        if offset < 0 or room <= 0:
            return b""
        try:
            return os.pread(self._descriptor, room, offset)
        except OSError:
            return b""

    def _records(self, offset: int, count: int, layout: np.dtype[np.void]) -> NDArray[np.void]:
        data = self.read(offset, count * layout.itemsize)
        return np.frombuffer(data[: len(data) // layout.itemsize * layout.itemsize], layout)

    def _headers(self, kind: str, layout: np.dtype[np.void]) -> NDArray[np.void]:
        header = self._header[0]
        if int(header[f"{kind}entsize"]) != layout.itemsize:
            return np.zeros(0, layout)
        return self._records(int(header[f"{kind}off"]), int(header[f"{kind}num"]), layout)

    @cached_property
    def sections(self) -> dict[str, np.void]:
        """Section headers by name. Empty where they were cut off."""
        table = self._headers("sh", SHDR)
        at = int(self._header["shstrndx"][0])
        names = self._section_bytes(table[at]) if at < len(table) else b""
        return {_text(names, int(row["name"])): row for row in table}

    @cached_property
    def _section_ends(self) -> list[int]:
        return [int(s["addr"]) + int(s["size"]) for s in self._headers("sh", SHDR)]

    def _section_bytes(self, section: np.void) -> bytes:
        return self.read(int(section["offset"]), int(section["size"])) if int(section["type"]) != SHT_NOBITS else b""

    def section(self, name: str) -> bytes:
        """The content of a section; b"" where there is none."""
        stream = self.stream(name)
        return stream.read(MOST_TABLE_BYTES) if stream else b""

    def stream(self, name: str) -> IO[bytes] | None:
        """A section as a file, read only where it is looked at."""
        section = self.sections.get(name)
        if section is None or int(section["type"]) == SHT_NOBITS:
            return None
        if int(section["flags"]) & SHF_COMPRESSED:
            return _inflate(self._section_bytes(section))
        return cast(IO[bytes], io.BufferedReader(_Window(self, int(section["offset"]), int(section["size"])), 1 << 16))

    # ---- addresses ----

    def linked_address(self, offset: int, executable: bool) -> int | None:
        """The address that the byte at `offset` of the file was linked for."""
        found = None
        for segment in self.segments[self.segments["type"] == PT_LOAD]:
            begin, size = int(segment["offset"]), int(segment["filesz"])
            # Mappings begin at whole pages, so the first page may show bytes before the segment as well.
            if not begin // PAGE * PAGE <= offset < -(-(begin + size) // PAGE) * PAGE:
                continue
            address = offset - begin + int(segment["vaddr"])
            if bool(int(segment["flags"]) & PF_X) == executable:
                return address
            found = address
        return found

    def at(self, address: int, size: int) -> bytes:
        """The bytes that the file has for a linked address; fewer at the end of its segment."""
        for segment in self.segments[self.segments["type"] == PT_LOAD]:
            into = address - int(segment["vaddr"])
            if 0 <= into < int(segment["filesz"]):
                return self.read(int(segment["offset"]) + into, min(size, int(segment["filesz"]) - into))
        return b""

    def eh_frame_hdr(self) -> tuple[int, int] | None:
        """Address and size of the search table for call frames."""
        found = self.segments[self.segments["type"] == PT_GNU_EH_FRAME]
        return (int(found["vaddr"][0]), int(found["memsz"][0])) if len(found) else None

    # ---- symbols ----

    @cached_property
    def _symbols(self) -> tuple[NDArray[np.void], bytes]:
        """Functions of the best symbol table there is, and its names."""
        for symbols, names in ((".symtab", ".strtab"), (".dynsym", ".dynstr")):
            data = self.section(symbols)
            table = np.frombuffer(data[: len(data) // SYM.itemsize * SYM.itemsize], SYM)
            kind, bind = table["info"] & 15, table["info"] >> 4
            functions = (kind == STT_FUNC) | (kind == STT_GNU_IFUNC) | ((kind == STT_NOTYPE) & (bind != STB_LOCAL))
            table = table[functions & (table["shndx"] != 0) & (table["shndx"] < 0xFF00)]
            if len(table):
                return table, self.section(names)
        return np.zeros(0, SYM), b""

    @property
    def has_symtab(self) -> bool:
        section = self.sections.get(".symtab")
        return section is not None and int(section["type"]) != SHT_NOBITS

    def function(self, address: int) -> tuple[str, int] | None:
        """(name, start) of the function that covers a linked address."""
        table, names = self._symbols
        before = table[table["value"] <= np.uint64(address & MASK)]
        if not len(before):
            return None
        inside = before[(np.uint64(address & MASK) - before["value"]) < before["size"]]
        if not len(inside):
            inside = self._unsized(before, address)
        if not len(inside):
            return None
        best = min(inside, key=_rank)
        return _text(names, int(best["name"])), int(best["value"])

    def _unsized(self, before: NDArray[np.void], address: int) -> NDArray[np.void]:
        """Labels of assembler code have no size: they reach to the next symbol or to the end of their section."""
        nearest = before[before["value"] == before["value"].max()]
        ends = dict(enumerate(self._section_ends))
        keep = [int(s["size"]) == 0 and address < ends.get(int(s["shndx"]), 0) for s in nearest]
        return np.asarray(nearest[keep])

    # ---- separate debug files ----

    @cached_property
    def build_id(self) -> str:
        """In hexadecimal; "" where the linker wrote none. (note: name size, content size, type 3, "GNU", content)"""
        note = self.section(".note.gnu.build-id")
        size = int.from_bytes(note[4:8], "little")
        return note[16 : 16 + size].hex() if note[8:16] == b"\3\0\0\0GNU\0" and size <= 64 else ""

    def debug_image(self, root: Path) -> Image | None:
        """The separate debug file: by build id, else by the name that the object gives. Never that of another build."""
        if self.build_id:
            found = Image.open(str(root / ".build-id" / self.build_id[:2] / f"{self.build_id[2:]}.debug"))
            if found and found.build_id == self.build_id:
                return found
        link = self.section(".gnu_debuglink")
        name, folder = os.path.basename(_text(link, 0)), Path(self.path).parent
        places = (folder, folder / ".debug", root / str(folder).lstrip("/"))
        candidates = (Image.open(str(place / name)) for place in places if name)
        checksum = int.from_bytes(link[-4:], "little")
        return next((image for image in candidates if image and self._same_build(image, checksum)), None)

    def _same_build(self, other: Image, checksum: int) -> bool:
        if self.build_id and other.build_id:
            return self.build_id == other.build_id
        found, at = 0, 0
        while data := other.read(at, 1 << 20):
            found, at = zlib.crc32(data, found), at + len(data)
        return found == checksum


class _Window(io.RawIOBase):
    """A stretch of an object's file as a file of its own."""

    def __init__(self, image: Image, begin: int, size: int) -> None:
        self._image, self._begin, self._size, self._at = image, begin, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._image.read(self._begin + self._at, min(len(buffer), self._size - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _inflate(data: bytes) -> IO[bytes] | None:
    """A section compressed with zlib: Elf64_Chdr (type, reserved, size, alignment), then the stream."""
    if int.from_bytes(data[:4], "little") != ZLIB:
        return None
    try:
        return io.BytesIO(zlib.decompressobj().decompress(data[24:], MOST_TABLE_BYTES))
    except zlib.error:
        return None


def _rank(symbol: np.void) -> tuple[int, int, int, int]:
    """Which of several symbols names an address: the innermost; of aliases the global one, as it is in the sources."""
    bind = int(symbol["info"]) >> 4
    return -int(symbol["value"]), int(symbol["size"]), {1: 0, 2: 1}.get(bind, 2), int(symbol["name"])


def _text(names: bytes, at: int) -> str:
    """The zero-ended text at an offset, fit to be shown: control characters become "?"."""
    end = names.find(b"\0", at)
    return printable(names[at : end if end >= 0 else len(names)].decode("utf-8", "replace"))


def printable(text: str) -> str:
    """Names come from files anybody may have written: nothing in them may reach a terminal as a command."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


# ---- debug information ----


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

        from gpudx.facts.abbreviations import LeanInfo

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


# ---- the way in ----


@dataclass(frozen=True)
class Place:
    """What an address is. `offset` is the address the object was linked for, or the offset in a file that is no ELF.

    `function` is as the linker knows it (C++ names are mangled), "" if unknown; `into` counts from its start. `source`
    is "path:line" as the compiler wrote it, or "".
    """

    path: str
    offset: int
    function: str = ""
    into: int = 0
    source: str = ""

    @property
    def object(self) -> str:
        return os.path.basename(self.path)

    def text(self, past: int = 0) -> str:
        """For people. `past` is how far behind this place the address is that was asked for."""
        if self.function and self.source:
            return f"{pretty(self.function)} at {os.path.basename(self.source)} ({self.object})"
        if self.function:
            return f"{pretty(self.function)}+{self.into + past:#x} ({self.object})"
        where = f"{self.object}+{self.offset + past:#x}"
        return f"{os.path.basename(self.source)} ({where})" if self.source else where


class Symbols:
    """Names addresses of one process, given its maps. Objects are opened when first needed and kept."""

    def __init__(self, maps: str, debug_root: Path = DEBUG_ROOT) -> None:
        self._mappings = parse_maps(maps)
        self._starts = [m.start for m in self._mappings]
        self._debug_root = debug_root
        self._objects: dict[str, _Object | None] = {}
        self._known: dict[int, tuple[Place, ...]] = {}

    def mapping(self, address: int) -> Mapping | None:
        at = bisect_right(self._starts, address) - 1
        return self._mappings[at] if at >= 0 and address < self._mappings[at].end else None

    def kind(self, address: int) -> str | None:
        """What an address points to: "code", "stack" (of the first thread), "heap" (of the C library, in part),
        "anonymous" (also other threads' stacks, large allocations and zeroed data of objects), "file:PATH",
        "reserved" (address space without access: drivers and allocators keep much of it), or None if the maps that
        were kept have nothing there.
        """
        mapping = self.mapping(address)
        if mapping is None:
            return None
        if mapping.path.startswith(("[stack", "[heap]")):
            return mapping.path[1:6].rstrip("]")
        if mapping.executable:
            return "code"
        if mapping.is_file:
            return f"file:{printable(mapping.path)}"
        return "anonymous" if mapping.access[:3] != "---" else "reserved"

    def executable(self, address: int) -> bool:
        mapping = self.mapping(address)
        return mapping is not None and mapping.executable

    def image(self, address: int) -> tuple[Image, int] | None:
        """The object that is mapped at an address, and the address that this place was linked for."""
        mapping = self.mapping(address)
        found = self._object(mapping) if mapping else None
        if mapping is None or found is None:
            return None
        linked = found.image.linked_address(address - mapping.start + mapping.offset, mapping.executable)
        return (found.image, linked) if linked is not None else None

    def _object(self, mapping: Mapping) -> _Object | None:
        # What lies under the path of a deleted file today is another file.
        if not mapping.is_file or mapping.deleted:
            return None
        if mapping.path not in self._objects:
            image = Image.open(mapping.path)
            self._objects[mapping.path] = _Object(image, self._debug_root) if image else None
        return self._objects[mapping.path]

    def places(self, address: int) -> tuple[Place, ...]:
        """The functions at an address: those inlined there, innermost first, then the one they are part of.

        At least one place for an address that is mapped, none for any other.
        """
        if address not in self._known:
            mapping = self.mapping(address)
            self._known[address] = self._find(mapping, address) if mapping else ()
        return self._known[address]

    def _find(self, mapping: Mapping, address: int) -> tuple[Place, ...]:
        path, offset = printable(mapping.path), address - mapping.start + mapping.offset
        image, found = self.image(address), self._object(mapping)
        if image is None or found is None:
            return (Place(path, offset),)
        return found.places(path, image[1])

    def locate(self, address: int) -> Place | None:
        """The innermost place at exactly this address; None where nothing is mapped."""
        return next(iter(self.places(address)), None)

    def describe(self, address: int, is_return_address: bool = True) -> str:
        """One line for people: "read_split at tensor.c:195 (app)", "clFinish+0x14f (libOpenCL.so.1)", "app+0x1234".

        A return address belongs to the call before it, which may be the last instruction of its line or function.
        """
        return self.describe_all(address, is_return_address)[0]

    def describe_all(self, address: int, is_return_address: bool = True) -> tuple[str, ...]:
        """The same, with one line for each function that was inlined there, innermost first. Never empty."""
        back = 1 if is_return_address else 0
        mapping = self.mapping(address - back)
        if mapping is None:
            return (f"{address:#x} (in no known mapping)",)
        if not mapping.path:
            return (f"{address:#x} ({'generated code' if mapping.executable else 'anonymous memory'})",)
        return tuple(place.text(back) for place in self.places(address - back))

    def struct(self, address: int, name: str) -> Struct | None:
        """A struct that the source of the code at an address declares; None where debug information has none of this name."""
        mapping, image = self.mapping(address), self.image(address)
        found = self._object(mapping) if mapping and image else None
        return found.struct(image[1], name) if found and image else None

    def source(self, address: int, is_return_address: bool = True) -> str | None:
        """ "path/tensor.c:195" for an address, None where no line is known."""
        place = self.locate(address - 1 if is_return_address else address)
        return place.source or None if place else None


class _Object:
    """An object with its debug file, if it has one apart."""

    def __init__(self, image: Image, debug_root: Path) -> None:
        self.image = image
        self._debug_root = debug_root

    @cached_property
    def _debug(self) -> Image:
        if ".debug_info" in self.image.sections:
            return self.image
        return self.image.debug_image(self._debug_root) or self.image

    @cached_property
    def _dwarf(self) -> Dwarf:
        return Dwarf(self._debug)

    def struct(self, address: int, name: str) -> Struct | None:
        return self._dwarf.struct(address, name)

    def places(self, path: str, address: int) -> tuple[Place, ...]:
        names = self._debug if self._debug.has_symtab else self.image
        name, start = names.function(address) or ("", address)
        frames = self._dwarf.frames(address) or [("", "")]
        outer, source = frames[-1]
        inlined = [Place(path, address, function, 0, where) for function, where in frames[:-1]]
        # The linker's name of a C++ function says more than debug information without one, and is what c++filt takes.
        function = name if name.startswith("_Z") else outer or name
        return (*inlined, Place(path, address, function, address - start, source))


@lru_cache(maxsize=4)
def symbols_of(maps: str) -> Symbols:
    """The Symbols of a maps text, made once: opening objects and decoding lines is the dear part."""
    return Symbols(maps)


# ---- C++ names ----

_WORD = re.compile(r"(\d+)")
_MODIFIERS = re.compile(r"[rVK]*[RO]?")


def pretty(name: str) -> str:
    """ "ns::Class::method" for a mangled C++ name without templates or operators; any other name unchanged."""
    local = name.removeprefix("_ZL") if name.startswith("_ZL") else name.removeprefix("_Z")
    if not name.startswith("_Z"):
        return name
    nested = local.startswith("N")
    at = _MODIFIERS.match(local, 1).end() if nested else 0  # type: ignore[union-attr]
    parts = _parts(local, at, nested)
    return "::".join(parts) if parts else name


def _parts(text: str, at: int, nested: bool) -> list[str]:
    """The names that make up a mangled name; empty if it has anything else in it."""
    parts: list[str] = []
    if text.startswith("St", at):
        parts, at = ["std"], at + 2
    while at < len(text):
        if text[at] == "E" and nested:
            return parts
        if text[at] in "CD" and text[at + 1 : at + 2] in tuple("012345") and parts:
            parts.append("~" * (text[at] == "D") + parts[-1])
            at += 2
            continue
        word, at = _word(text, at)
        if not word:
            return []
        parts.append(word)
        if not nested:
            return [] if text.startswith(("I", "B"), at) else parts
    return []


def _word(text: str, at: int) -> tuple[str, int]:
    digits = _WORD.match(text, at)
    if not digits or len(digits[1]) > 4:
        return "", at
    end = digits.end() + int(digits[1])
    word = text[digits.end() : end]
    if len(word) != int(digits[1]):
        return "", at
    return "(anonymous namespace)" if word.startswith("_GLOBAL__N") else word, end
