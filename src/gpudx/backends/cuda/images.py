"""Images of device code: which architectures they hold, and which of those a device can run.

What the recorder keeps of an image is its beginning and, of a fat binary, the first 64 bytes of each entry's header.

    cubin       an ELF file for machine 190 (EM_CUDA). Its flags have the architecture in bits 0 to 7; since ELF ABI
                version 8 (CUDA 13) in bits 8 to 15 (llvm/BinaryFormat/ELF.h: EF_CUDA_SM, EF_CUDA_SM_MASK,
                ELFABIVERSION_CUDA_V2; seen in what ptxas 13.0 writes)
    PTX         text with .version and .target directives (PTX ISA, "PTX Module Directives")
    fat binary  entries of kind 1 (PTX) and 2 (cubin). No vendor document describes them; places and flags are those
                that nvcc 13.0 writes for sm_75 to sm_120 with and without "a" and "f"

What runs where: CUDA C++ Programming Guide, "Binary Compatibility" (a cubin runs on devices of the same major version and
the same or a later minor one), "PTX Compatibility" (PTX runs on the same or any later one), "Feature Set Compiler
Targets" ("a" runs on that very version, "f" on its family).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpudx.elf.layout import ELF64_LITTLE
from gpudx.text import listed as and_listed

FAT_MAGIC = 0xBA55ED50
PTX, CUBIN = 1, 2  # kinds of entries; others are no code
ENTRY_WORDS = 8
CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all entries
MOST_ENTRIES, MOST_PADDING = 100_000, 1 << 20
ENTRY = struct.Struct("<HHIQ8xHHI8xQ16x")  # kind, .., version of the PTX (minor, major), architecture, .., flags
EXACT, FAMILY = 1 << 20, 1 << 21  # flags of an entry: "a" and "f"
COMPRESSED = 0x2000 | 0x8000  # with LZ4, with zstd
EM_CUDA, NEW_ABI = 190, 8
ACCELERATED = 0x800  # flag of older cubins: "a"
MACHINES = {62: "x86-64", 183: "AArch64", 21: "POWER", 224: "AMD GPU"}
TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+)([af]?)\b", re.M)
VERSION = re.compile(rb"^\s*\.version\s+(\d+)\.(\d+)", re.M)
SHOWN = 24  # bytes of what is no image


@dataclass(frozen=True)
class Code:
    """Code for one architecture. `version` is that of the PTX language; (0, 0) for a cubin or where it is not known."""

    ptx: bool
    architecture: int
    suffix: str = ""
    version: tuple[int, int] = (0, 0)

    @property
    def target(self) -> str:
        return f"{'compute' if self.ptx else 'sm'}_{self.architecture}{self.suffix}"

    @property
    def compiled(self) -> bool:
        """Is it machine code? PTX has to be compiled when it is loaded."""
        return not self.ptx

    @property
    def language(self) -> str:
        """The language version of what has to be compiled, "" if that is not known."""
        return f"PTX {self.version[0]}.{self.version[1]}" if any(self.version) else ""

    def runs_on(self, device: Mapping[str, int]) -> bool:
        """Can this device run it, as far as its version says?"""
        mine = divmod(self.architecture, 10)
        its = (device.get("capability_major", 0), device.get("capability_minor", 0))
        if self.suffix == "a":
            return its == mine
        return its >= mine and (its[0] == mine[0] or (self.ptx and not self.suffix))


@dataclass(frozen=True)
class Image:
    """What an image holds. `odd` says what it is if it is no device code; `whole`: all of its code is listed."""

    codes: tuple[Code, ...] = ()
    odd: str = ""
    whole: bool = True

    @property
    def holds(self) -> str:
        """ "code for sm_75 and sm_90a, PTX for compute_90"; "" if no code is known."""
        compiled, source = ([c.target for c in self.codes if c.ptx == ptx] for ptx in (False, True))
        parts = [f"code for {and_listed(compiled)}"] if compiled else []
        parts += [f"{'' if compiled else 'only '}PTX for {and_listed(source)}"] if source else []
        parts += ["and more that was not recorded"] if parts and not self.whole else []
        return ", ".join(parts)


def device_target(device: Mapping[str, int]) -> str:
    """The architecture of a device, "" if it was not told."""
    major = device.get("capability_major", 0)
    return f"sm_{major}{device.get('capability_minor', 0)}" if major else ""


def read(head: bytes, words: Sequence[int], whole: bool) -> Image:
    """An image from its beginning and the headers of its entries."""
    if head[:4] == struct.pack("<I", FAT_MAGIC):
        return Image(_entries(words), whole=whole)
    if head.startswith(b"\x7fELF"):
        return _elf(head)
    target = TARGET.search(head)
    if target:
        version = VERSION.search(head)
        parts = (int(version[1]), int(version[2])) if version else (0, 0)
        return Image((Code(True, int(target[1]), target[2].decode(), parts),))
    begins = f"it begins with {repr(head[:SHOWN])[1:]}" if head else "it is empty"
    return Image(odd=f"neither a cubin, nor PTX, nor a fat binary: {begins}")


def _entries(words: Sequence[int]) -> tuple[Code, ...]:
    data = struct.pack(f"<{len(words)}Q", *words)
    found = []
    for at in range(0, len(words) // ENTRY_WORDS * ENTRY.size, ENTRY.size):
        kind, _, _, _, minor, major, architecture, flags = ENTRY.unpack_from(data, at)
        suffix = "a" if flags & EXACT else "f" if flags & FAMILY else ""
        if kind in (PTX, CUBIN):
            version = (major, minor) if kind == PTX else (0, 0)
            found.append(Code(kind == PTX, architecture, suffix, version))
    return tuple(dict.fromkeys(found))


def _elf(head: bytes) -> Image:
    if len(head) < 64 or not head.startswith(ELF64_LITTLE):
        return Image(odd="an ELF file that is not a 64-bit one, or is cut short")
    (machine,), (flags,) = struct.unpack_from("<H", head, 18), struct.unpack_from("<I", head, 48)
    if machine != EM_CUDA:
        return Image(odd=f"an ELF file for {MACHINES.get(machine, f'machine {machine}')}, not for this kind of device")
    if head[8] >= NEW_ABI:
        return Image((Code(False, flags >> 8 & 255),))
    return Image((Code(False, flags & 255, "a" if flags & ACCELERATED else ""),))


def listed(read: Callable[[int, int], bytes]) -> tuple[str, ...]:
    """The architectures in a section of fat binaries, each once."""
    return tuple(dict.fromkeys(code.target for head in _headers(read) for code in _entries(head)))


def readable(read: Callable[[int, int], bytes]) -> bool:
    """Can texts of the device code be found in the section? Only in machine code, not compressed: in PTX, texts are numbers."""
    flags = [head[5] for head in _headers(read) if head[0] & 0xFFFF == CUBIN]
    return bool(flags) and not any(one & COMPRESSED for one in flags)


def _headers(read: Callable[[int, int], bytes]) -> Iterator[tuple[int, ...]]:
    """The headers of all entries of all fat binaries, one behind the other. Only these are read: sections have gigabytes."""
    at, seen = 0, 0
    while seen < MOST_ENTRIES and len(head := read(at, CONTAINER.size)) == CONTAINER.size:
        magic, _, header, size = CONTAINER.unpack(head)
        if magic == FAT_MAGIC:
            for entry in _inside(read, at + header, at + header + size):
                seen += 1
                yield entry
        elif at > MOST_PADDING and not seen:
            return
        at += header + size if magic == FAT_MAGIC else 8  # padding between them


def _inside(read: Callable[[int, int], bytes], at: int, end: int) -> Iterator[tuple[int, ...]]:
    while at + ENTRY.size <= end and len(head := read(at, ENTRY.size)) == ENTRY.size:
        yield struct.unpack(f"<{ENTRY_WORDS}Q", head)
        _, _, header, size, *_ = ENTRY.unpack(head)
        if header < ENTRY.size:
            return
        at += header + size
