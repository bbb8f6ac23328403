"""Cubins: what ptxas made of each kernel, from the sections it writes beside the code.

No vendor document describes `.nv.info`; these are records of format, attribute and a value of 16 bits or a size (format 4). What the
attributes mean was found by holding what ptxas 13.0 writes for sm_75 to sm_120 against what `ptxas -v` says. From sm_90 on,
1,024 bytes of each kernel's shared section belong to the system. Spills are not told in a cubin; the compiler's lines have them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from gpudx.backends.cuda.images import Code as Target
from gpudx.backends.cuda.images import read as read_head
from gpudx.backends.cuda.types import signature
from gpudx.backends.mangling import demangle
from gpudx.elf.header import BadElf
from gpudx.elf.layout import SYM
from gpudx.elf.sections import SYMTAB, Elf, text_at
from gpudx.evidence import _sass as sass
from gpudx.evidence._compressed import Unreadable
from gpudx.evidence._device_code import Function, Image, Kernel, Parameter
from gpudx.model.kernel_builds import KernelBuild

MAX_THREADS, STACK, PARAMETER, PARAMETER_BYTES, REGISTERS, BARRIERS = 0x05, 0x12, 0x17, 0x19, 0x2F, 0x4C
PARAMETER_PLACE = 0x0A  # number of a symbol, where the parameters begin in constant bank 0, how many bytes
SIZED = 4  # format of a record
MOST_SYMBOLS = 2_000_000
MOST_RECORDS = 1_000_000
INFO, TEXT, SHARED, LOCAL, CONSTANT = ".nv.info.", ".text.", ".nv.shared.", ".nv.local.", ".nv.constant0."
RESERVED, RESERVING = 1024, 90  # bytes of shared memory, from this architecture on
WARP = 32
PROLOGUE = 64  # instructions that are looked at for a trap

Attributes = list[tuple[int, bytes]]


def read(data: memoryview, where: str, named: Target | None = None) -> Image:
    """The image of one cubin; `named` is the target that its container gives. What cannot be read is said in it."""
    head = read_head(bytes(data[:64]), (), True)
    target = named or (head.codes[0] if head.codes else Target(False, 0))
    image = Image("NVIDIA", target.target if target.architecture else "", "cubin", where)
    if head.odd:
        return replace(image, unread=f"is {head.odd}")
    try:
        return replace(image, kernels=tuple(_kernels(Elf(data), image, target)))
    except (BadElf, Unreadable) as error:
        return replace(image, unread=str(error))


def _kernels(elf: Elf, image: Image, target: Target) -> Iterator[Kernel]:
    shared = _by_symbol(elf)
    for name, index in elf.by_name.items():
        if name.startswith(INFO) and f"{TEXT}{name.removeprefix(INFO)}" in elf.by_name:
            symbol = name.removeprefix(INFO)
            own = _records(elf.bytes_of(index))
            if any(attribute == PARAMETER_BYTES for attribute, _ in own):  # device functions have none
                yield _kernel(elf, image, target, symbol, own + shared.get(symbol, []))


def _kernel(elf: Elf, image: Image, target: Target, symbol: str, told: Attributes) -> Kernel:
    numbers = {attribute: int.from_bytes(value[-4:], "little") for attribute, value in told if attribute != PARAMETER}
    limits = (value for attribute, value in told if attribute == MAX_THREADS and len(value) == 12)
    threads = next((struct.unpack("<3I", value) for value in limits), None)
    build = KernelBuild(
        kernel=demangle(symbol),
        mangled=symbol,
        arch=image.target,
        registers=numbers.get(REGISTERS),
        stack_bytes=numbers.get(STACK),
        static_shared_bytes=_shared(elf, symbol, target.architecture),
        local_bytes=_size(elf, LOCAL + symbol),
        constant_bytes=_size(elf, CONSTANT + symbol),
        barriers=numbers.get(BARRIERS),
        max_threads=threads[0] * threads[1] * threads[2] if threads else None,
        wave_size=WARP,
        image=image.where,
    )
    traps = begins_with_trap(elf.named(TEXT + symbol), target.architecture)
    return Kernel(build, _parameters(told, symbol), numbers.get(PARAMETER_BYTES), traps=traps)


def function(elf: Elf, symbol: str, architecture: int) -> Function | None:
    """The code of a kernel; None where the image does not have it, or does not say where its parameters are."""
    if TEXT + symbol not in elf.by_name or INFO + symbol not in elf.by_name:
        return None
    told = _records(elf.named(INFO + symbol))
    places = [struct.unpack("<4xHH", value) for attribute, value in told if attribute == PARAMETER_PLACE and len(value) == 8]
    if len(places) != 1:
        return None
    return Function(symbol, architecture, bytes(elf.named(TEXT + symbol)), places[0][0], _parameters(told, symbol))


def _shared(elf: Elf, symbol: str, architecture: int) -> int:
    size = _size(elf, SHARED + symbol)
    return 0 if size is None else max(0, size - (RESERVED if architecture >= RESERVING else 0))


def _size(elf: Elf, name: str) -> int | None:
    """The size of a section, which need not have content in the file."""
    index = elf.by_name.get(name)
    return None if index is None else int(elf.sections["size"][index])


def _parameters(told: Attributes, symbol: str) -> tuple[Parameter, ...]:
    """Index and ordinal, offset, and a word that has the size in its upper 14 bits."""
    found = sorted(
        struct.unpack("<4xHHI", value) for attribute, value in told if attribute == PARAMETER and len(value) == 12
    )
    types = signature(symbol).parameters or ()
    fit = len(types) == len(found)
    return tuple(
        Parameter(index, offset, word >> 18, types[at].type if fit else "")
        for at, (index, offset, word) in enumerate(found)
    )


# ---- records ----


def _by_symbol(elf: Elf) -> dict[str, Attributes]:
    """What the section of the whole image says, by function: its records begin with the number of a symbol."""
    names = _symbols(elf)
    found: dict[str, Attributes] = {}
    for attribute, value in _records(elf.named(".nv.info")):
        if len(value) == 8:
            found.setdefault(names.get(int.from_bytes(value[:4], "little"), ""), []).append((attribute, value))
    return found


def _symbols(elf: Elf) -> dict[int, str]:
    for index in elf.of_type(SYMTAB):
        names = elf.bytes_of(int(elf.sections["link"][index]))
        rows = elf.rows(int(index), SYM, SYM.itemsize, MOST_SYMBOLS)
        return {number: text_at(names, int(row["name"])) for number, row in enumerate(rows)}
    return {}


def _records(data: memoryview) -> Attributes:
    found: Attributes = []
    at = 0
    while at + 4 <= len(data) and len(found) < MOST_RECORDS:
        form, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        size = value if form == SIZED else 0
        found.append((attribute, bytes(data[at : at + size]) if size else value.to_bytes(4, "little")))
        at += size
    return found


# ---- machine code ----


def begins_with_trap(data: memoryview, architecture: int) -> bool:
    """Does each thread run into a trap before it writes anything or comes to a branch? False also where that is not known."""
    code = sass.Code(data, architecture)
    for number in range(min(len(code), PROLOGUE) if architecture >= 70 else 0):
        word = code.word(number)
        always = sass.bits(word, 12, 15) == sass.TRUE
        if sass.is_trap(word):
            return always
        access = sass.decode(word, architecture)
        if code.after(number) != [number + 1] or (access and access.kind != "read"):
            return False
    return False
