"""An ELF object on disk: segments, sections, symbols, build id and separate debug file. 64 bits, little-endian.

A function is named only where a symbol covers the address: in a stripped library the nearest symbol before it is another function.
"""

from __future__ import annotations

import io
import os
import stat
import weakref
import zlib
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from gpudx.elf.layout import EHDR, ELF64_LITTLE, PHDR, SHDR, SYM
from gpudx.text import printable

DEBUG_ROOT = Path("/usr/lib/debug")
MASK = (1 << 64) - 1
MOST_TABLE_BYTES = 512 << 20  # a symbol table, a string table, a decompressed section
PAGE = 4096

PT_LOAD, PT_GNU_EH_FRAME, PF_X = 1, 0x6474E550, 1
SHT_NOBITS, SHF_COMPRESSED, ZLIB = 8, 0x800, 1
STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC, STB_LOCAL = 0, 2, 10, 0


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
