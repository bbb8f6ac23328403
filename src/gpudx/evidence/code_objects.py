"""Device code in files: HIP and CUDA programs and libraries, fat binaries, offload bundles, code objects (.hsaco), SPIR-V, cubins, PTX.

Written by hipcc, clang and nvcc. Read are the targets that a file holds code for and, of compiled code, every kernel with its
registers, spills, stack, shared memory, limits and parameters as the compiler left them. Compressed parts are unpacked with zlib,
or with the system's zstd and LZ4 where they are installed; what cannot be unpacked is said with the reason. PTX has no resource
numbers before a driver compiles it. Not read: code objects of version 2, OpenCL binaries, archives (.a).
"""

from __future__ import annotations

import contextlib
import mmap
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudx.backends.cuda.images import CUBIN, EM_CUDA, ENTRY, EXACT, FAMILY, FAT_MAGIC, PTX, Code
from gpudx.backends.cuda.images import read as read_ptx
from gpudx.backends.hip.targets import SPIRV
from gpudx.elf.header import BadElf
from gpudx.elf.sections import Elf
from gpudx.errors import UserError
from gpudx.evidence import _amd_code, _bundles, _nvidia_code, _spirv
from gpudx.evidence._code_faults import faults
from gpudx.evidence._compressed import Method, Unreadable, unpack
from gpudx.evidence._device_code import Contents, Image
from gpudx.model import Finding
from gpudx.text import plural

FAT = struct.pack("<I", FAT_MAGIC)
FAT_HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of what follows
PACKED: dict[int, Method] = {1 << 13: "lz4", 1 << 15: "zstd"}  # flags of an entry
PACKED_SIZE, PLAIN_SIZE = 16, 56  # where an entry's header has them
HIP_SECTIONS = (".hip_fatbin",)
CUDA_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
UNLINKED = (
    ".llvm.offloading",
    "__CLANG_OFFLOAD_BUNDLE__",
)  # how sections of objects begin whose device code is linked later
PTX_HEAD = re.compile(rb"^\s*\.version\s+\d+\.\d+\s*$", re.M)
MOST_ENTRIES = 100_000
ELF, CORE = b"\x7fELF", 4  # ET_CORE: a dump, which is another format


def read(path: Path) -> Contents:
    """What the file holds. Raises UserError when it cannot be read, or is no kind of file that could hold device code."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a regular file"
        raise UserError(f"{path} cannot be read ({why}): give a program, library or file of device code.") from None
    return contents(memoryview(mapped), path.name)


def contents(data: memoryview, name: str) -> Contents:
    """The same of bytes."""
    head = bytes(data[:64])
    if head.startswith((_bundles.PLAIN, _bundles.PACKED)):
        return Contents(name, "offload bundle", tuple(_of_bundles(data, name)))
    if head.startswith(_spirv.MAGIC):
        return Contents(name, "SPIR-V module", (_spirv.read(data, name, SPIRV),))
    if head.startswith(FAT):
        return Contents(name, "CUDA fat binary", tuple(_of_fat_binaries(data, name)))
    if head.startswith(ELF):
        return _of_elf(data, name)
    if PTX_HEAD.search(data[:65536]):
        return Contents(name, "PTX", (_ptx(bytes(data[:65536]), name),))
    raise UserError(
        f"{name} is not a program, library, cubin, fat binary, code object, SPIR-V module or offload bundle: there is nothing to audit."
    )


def _of_elf(data: memoryview, name: str) -> Contents:
    machine = int.from_bytes(data[18:20], "little")
    if data[16:17] == bytes([CORE]):
        raise UserError(f"{name} is a core dump, not a program: give the program that wrote it.")
    if machine == _amd_code.EM_AMDGPU:
        return Contents(name, "AMD code object", (_amd_code.read(data, name),))
    if machine == EM_CUDA:
        return Contents(name, "cubin", (_nvidia_code.read(data, name),))
    try:
        elf = Elf(data)
    except BadElf as error:
        raise UserError(f"{name} {error}: give the file as the compiler or linker wrote it.") from None
    notes = [_note(elf, section) for section in elf.by_name]
    return Contents(name, "program or library", tuple(_of_program(elf)), tuple(filter(None, notes)))


def _note(elf: Elf, section: str) -> str:
    """Why a section of device code is not all read, "" where that is not so."""
    if section.startswith(UNLINKED):
        return f"The device code in {section} is not linked yet: audit the program that it is linked into."
    mine = section.startswith((*HIP_SECTIONS, *CUDA_SECTIONS)) and not elf.whole[elf.by_name[section]]
    return f"The section {section} is cut off: the file was not copied to its end." if mine else ""


def _of_program(elf: Elf) -> Iterator[Image]:
    for section, index in elf.by_name.items():
        if section.startswith(HIP_SECTIONS):
            yield from _of_bundles(elf.bytes_of(index), section)
        elif section.startswith(CUDA_SECTIONS):
            yield from _of_fat_binaries(elf.bytes_of(index), section)


# ---- AMD ----


def _of_bundles(data: memoryview, where: str) -> Iterator[Image]:
    for one in _bundles.entries(data):
        place = f"{where}+{one.place:#x}"
        if isinstance(one, _bundles.Refused):
            yield Image("AMD", "", "offload bundle", place, unread=one.why)
        elif one.on_device and len(one.data):
            reader = _spirv if bytes(one.data[:4]) == _spirv.MAGIC else _amd_code
            yield reader.read(one.data, place, one.target)


# ---- NVIDIA ----


@dataclass(frozen=True)
class _Entry:
    """One entry of a fat binary."""

    place: int
    header: memoryview
    content: memoryview
    code: Code
    flags: int

    def plain(self) -> memoryview:
        """Its content, unpacked. Raises Unreadable."""
        method = next((name for flag, name in PACKED.items() if self.flags & flag), None)
        if method is None:
            return self.content
        (used,), (size,) = struct.unpack_from("<I", self.header, PACKED_SIZE), struct.unpack_from("<Q", self.header, PLAIN_SIZE)
        return memoryview(unpack(method, bytes(self.content[: used or len(self.content)]), size))


def _of_fat_binaries(data: memoryview, where: str) -> Iterator[Image]:
    for one in _fat_entries(data):
        if isinstance(one, int):
            yield Image("NVIDIA", "", "fat binary", f"{where}+{one:#x}", unread="is cut off")
        else:
            yield _image(one, f"{where}+{one.place:#x}")


def cubins(data: memoryview) -> Iterator[tuple[Code, Callable[[], memoryview]]]:
    """The machine code in a cubin or in fat binaries: what it is for, and what unpacks it, which may raise Unreadable."""
    if bytes(data[:4]) == ELF:
        yield from ((code, lambda: data) for code in read_ptx(bytes(data[:64]), (), True).codes)
        return
    for one in _fat_entries(data):
        if not isinstance(one, int) and not one.code.ptx:
            yield one.code, one.plain


def ptx_in(data: memoryview) -> Iterator[str]:
    """The PTX in fat binaries, the newest of each last. What cannot be unpacked is left out."""
    for one in _fat_entries(data):
        if not isinstance(one, int) and one.code.ptx:
            with contextlib.suppress(Unreadable):
                yield bytes(one.plain()).rstrip(b"\0").decode(errors="replace")


def _image(entry: _Entry, place: str) -> Image:
    code = entry.code
    if code.ptx:
        return Image("NVIDIA", code.target, code.language or "PTX", place)
    try:
        return _nvidia_code.read(entry.plain(), place, code)
    except Unreadable as error:
        return Image("NVIDIA", code.target, "cubin", place, unread=str(error))


def _fat_entries(data: memoryview) -> Iterator[_Entry | int]:
    """The entries of all fat binaries, which a linker puts one behind the other; the place of one that is cut off."""
    at = 0
    for _ in range(MOST_ENTRIES):
        found = re.compile(re.escape(FAT)).search(data, at)
        if found is None or len(data) - found.start() < FAT_HEADER.size:
            return
        _, _, header, size = FAT_HEADER.unpack_from(data, found.start())
        begin = found.start() + header
        if size > len(data) - begin:
            yield found.start()
            size = max(0, len(data) - begin)
        yield from _entries(data[begin : begin + size], begin)
        at = max(begin + size, found.start() + 4)


def _entries(data: memoryview, base: int) -> Iterator[_Entry]:
    at = 0
    for _ in range(MOST_ENTRIES):
        if at + ENTRY.size > len(data):
            return
        kind, _, header, size, minor, major, architecture, flags = ENTRY.unpack_from(data, at)
        suffix = "a" if flags & EXACT else "f" if flags & FAMILY else ""
        if kind in (CUBIN, PTX):
            version = (major, minor) if kind == PTX else (0, 0)
            code = Code(kind == PTX, architecture, suffix, version)
            yield _Entry(base + at, data[at : at + ENTRY.size], data[at + header : at + header + size], code, flags)
        if header < ENTRY.size:
            return
        at += header + size


def ptx_texts(data: memoryview) -> Iterator[tuple[Code, str]]:
    """The PTX of an image, a fat binary or the text itself, with what it is for. What cannot be unpacked is left out."""
    if bytes(data[:4]) != FAT:
        yield from (
            (code, bytes(data).decode(errors="replace")) for code in read_ptx(bytes(data[:65536]), (), True).codes
        )
        return
    _, _, at, _ = FAT_HEADER.unpack_from(data)
    for entry in _entries(data[at:], at):
        if entry.code.ptx:
            with contextlib.suppress(Unreadable):
                yield entry.code, bytes(entry.plain()).rstrip(b"\0").decode(errors="replace")


def _ptx(head: bytes, name: str) -> Image:
    found = read_ptx(head, (), True).codes
    return Image("NVIDIA", found[0].target if found else "", found[0].language if found else "PTX", name)


def to_findings(read_: Contents, archs: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What is wrong with the code, and which of the targets `archs` ("sm_90", "gfx90a") it cannot run on."""
    return tuple(faults(read_, archs))


def summary(read_: Contents) -> str:
    """What is inside, as one sentence."""
    kernels = sum(len(image.kernels) for image in read_.images)
    if not read_.images:
        return f"{read_.name} ({read_.form}) holds no device code."
    targets = ", ".join(read_.targets) or "targets that are unknown"
    vendors = " and ".join(dict.fromkeys(image.vendor for image in read_.images))
    return (
        f"{read_.name} ({read_.form}) holds {plural(len(read_.images), 'image')} of {vendors} device code "
        f"with {plural(kernels, 'kernel')}, for {targets} ({', '.join(dict.fromkeys(image.form for image in read_.images))})."
    )
