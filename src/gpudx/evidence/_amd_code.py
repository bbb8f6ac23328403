"""AMD code objects: ELF files for one target whose note tells every kernel's resources and arguments.

Layout: LLVM, "User Guide for AMDGPU Backend": "ELF Code Object", "Note Records" (NT_AMDGPU_METADATA, owner "AMDGPU"), "Code Object
V3 Metadata" and what later versions added. Version 2 wrote its metadata as YAML under another note, and is not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gpudx.backends.hip.targets import parse
from gpudx.backends.hip.types import signature
from gpudx.backends.mangling import demangle
from gpudx.elf.header import BadElf
from gpudx.elf.layout import SYM
from gpudx.elf.sections import SYMTAB, Elf, text_at
from gpudx.evidence._amd_isa import begins_with_trap
from gpudx.evidence._compressed import Unreadable
from gpudx.evidence._device_code import Image, Kernel, Parameter
from gpudx.evidence._msgpack import BadMessage, Value, unpack
from gpudx.evidence.amd_slices import Start, start_of
from gpudx.model.kernel_builds import KernelBuild

EM_AMDGPU = 224
NOTE, DYNSYM = 7, 11  # types of sections
OBJECT, FUNCTION = 1, 2  # STT_OBJECT, STT_FUNC
DESCRIPTOR = 64  # bytes of a kernel descriptor
METADATA = 32  # NT_AMDGPU_METADATA
VERSIONS = {0: 2, 1: 3, 2: 4, 3: 5, 4: 6}  # by the ABI version of the ELF header
MOST_KERNELS = 100_000
MOST_ARGUMENTS = 10_000
MOST_SYMBOLS = 2_000_000
REGISTER = 4  # bytes of a vector register, in each thread
HIDDEN = "hidden_"  # arguments that the runtime passes
EXTRA = {
    ".sgpr_count": "scalar registers", ".agpr_count": "accumulation registers", ".sgpr_spill_count": "scalar spills",
    ".vgpr_spill_count": "vector spills", ".uses_dynamic_stack": "dynamic stack",
}  # fmt: skip


def read(data: memoryview, where: str, named: str = "") -> Image:
    """The image of one code object; `named` is the target that its container gives. What cannot be read is said in it."""
    image = Image("AMD", named, "code object", where)
    try:
        elf = Elf(data)
        if elf.ident.machine != EM_AMDGPU:
            raise Unreadable(f"is an ELF file for machine {elf.ident.machine}, not for AMD GPUs")
        version = VERSIONS.get(data[8], 0)
        image = replace(image, form=f"code object v{version}" if version else "code object")
        return _kernels(elf, image)
    except (BadElf, Unreadable) as error:
        return replace(image, unread=str(error))
    except BadMessage as error:
        return replace(image, unread=f"has metadata that cannot be read: it {error}")


@dataclass(frozen=True)
class Kernarg:
    """One kernel of a code object: which parameters it has, and with which registers it begins."""

    symbol: str
    address: int
    size: int
    parameters: tuple[Parameter, ...]
    start: Start


def kernel_at(data: memoryview, address: int) -> Kernarg | None:
    """The kernel whose code has an address, as the code object counts; None where there is none, or it cannot be read."""
    try:
        elf = Elf(data)
        code, image = _Functions.of(elf), _kernels(elf, Image("AMD", "", "", ""))
    except (BadElf, Unreadable, BadMessage):
        return None
    for kernel in image.kernels:
        symbol = kernel.build.mangled
        begin, size = code.places.get(symbol, (0, 0))
        descriptor = code.object(f"{symbol}.kd")
        if begin <= address < begin + size and kernel.parameters is not None and len(descriptor) >= DESCRIPTOR:
            return Kernarg(symbol, begin, size, kernel.parameters, start_of(bytes(descriptor[:DESCRIPTOR])))
    return None


def _kernels(elf: Elf, image: Image) -> Image:
    metadata = _metadata(elf)
    triple = _text(metadata.get("amdhsa.target"))
    image = replace(image, target=image.target or triple[triple.find("gfx") :] if "gfx" in triple else image.target)
    listed = metadata.get("amdhsa.kernels")
    known = listed[:MOST_KERNELS] if isinstance(listed, list) else []
    code = _Functions.of(elf)
    return replace(image, kernels=tuple(_kernel(one, image, code) for one in known if isinstance(one, dict)))


def _metadata(elf: Elf) -> dict[str | int, Value]:
    for section in elf.of_type(NOTE):
        for owner, kind, content in _notes(elf.bytes_of(int(section))):
            if owner == b"AMDGPU" and kind == METADATA:
                found = unpack(content)
                if isinstance(found, dict):
                    return found
    raise Unreadable("has no metadata: it is of version 2, or something removed it")


def _notes(data: memoryview) -> Iterator[tuple[bytes, int, memoryview]]:
    """Owner, type and content of each note (gABI, "Note Section"); all parts begin at multiples of 4."""
    at = 0
    while at + 12 <= len(data):
        name, size, kind = struct.unpack_from("<III", data, at)
        begin = at + 12 + -(-name // 4) * 4
        if begin + size > len(data):
            return
        yield bytes(data[at + 12 : at + 12 + name]).rstrip(b"\0"), kind, data[begin : begin + size]
        at = begin + -(-size // 4) * 4


# ---- kernels ----


def _kernel(told: dict[str | int, Value], image: Image, code: _Functions) -> Kernel:
    symbol = _text(told.get(".name"))
    spilled = _number(told.get(".vgpr_spill_count"))
    build = KernelBuild(
        kernel=demangle(symbol),
        mangled=symbol,
        arch=image.target,
        registers=_number(told.get(".vgpr_count")),
        spill_stores=None if spilled is None else REGISTER * spilled,
        stack_bytes=_number(told.get(".private_segment_fixed_size")),
        static_shared_bytes=_number(told.get(".group_segment_fixed_size")),
        max_threads=_number(told.get(".max_flat_workgroup_size")),
        wave_size=_number(told.get(".wavefront_size")),
        image=image.where,
    )
    return Kernel(
        build,
        _parameters(told.get(".args"), symbol),
        _number(told.get(".kernarg_segment_size")),
        _number(told.get(".kernarg_segment_align")),
        {name: value for key, name in EXTRA.items() if (value := _number(told.get(key))) is not None},
        begins_with_trap(code.named(symbol), parse(image.target).major),
    )


def _parameters(told: Value, symbol: str) -> tuple[Parameter, ...] | None:
    """What the host passes, in order; types are the metadata's own, else the symbol's where it has as many."""
    if told is None:
        return ()
    if not isinstance(told, list):
        return None
    passed = [one for one in told[:MOST_ARGUMENTS] if isinstance(one, dict) and not _kind(one).startswith(HIDDEN)]
    types = [one.type for one in signature(symbol).parameters or ()]
    types = types if len(types) == len(passed) else [""] * len(passed)
    return tuple(_parameter(index, one, types[index]) for index, one in enumerate(passed))


def _parameter(index: int, told: dict[str | int, Value], type_: str) -> Parameter:
    return Parameter(
        index,
        _number(told.get(".offset")) or 0,
        _number(told.get(".size")) or 0,
        _text(told.get(".type_name")) or type_,
        _text(told.get(".name")),
        _kind(told),
        _text(told.get(".address_space")),
        told.get(".is_const") is True,
    )


def _kind(told: dict[str | int, Value]) -> str:
    return _text(told.get(".value_kind"))


def _number(value: Value) -> int | None:
    return int(value) if isinstance(value, int) and value >= 0 else None


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


# ---- machine code ----


@dataclass(frozen=True)
class _Functions:
    """Where the code of each function stands in the file."""

    elf: Elf
    places: dict[str, tuple[int, int]]  # address and size by symbol
    objects: dict[str, tuple[int, int]] = field(default_factory=dict)  # the same of data

    @staticmethod
    def of(elf: Elf) -> _Functions:
        places: dict[str, tuple[int, int]] = {}
        objects: dict[str, tuple[int, int]] = {}
        for index in [*elf.of_type(SYMTAB), *elf.of_type(DYNSYM)]:
            names = elf.bytes_of(int(elf.sections["link"][index]))
            rows = elf.rows(int(index), SYM, SYM.itemsize, MOST_SYMBOLS)
            for row in rows[rows["info"] & 15 == FUNCTION]:
                places.setdefault(text_at(names, int(row["name"])), (int(row["value"]), int(row["size"])))
            for row in rows[rows["info"] & 15 == OBJECT]:
                objects.setdefault(text_at(names, int(row["name"])), (int(row["value"]), int(row["size"])))
        return _Functions(elf, places, objects)

    def named(self, symbol: str) -> memoryview:
        """The instructions of a function, empty if it is not there."""
        return self._bytes(*self.places.get(symbol, (0, 0)))

    def object(self, symbol: str) -> memoryview:
        """The bytes of some data, empty if it is not there."""
        return self._bytes(*self.objects.get(symbol, (0, 0)))

    def _bytes(self, address: int, size: int) -> memoryview:
        sections, at = self.elf.sections, np.uint64(address)
        holding = np.flatnonzero((sections["addr"] <= at) & (at < sections["addr"] + sections["size"]) & (at > 0))
        if not len(holding):
            return self.elf.data[:0]
        begin = address - int(sections["addr"][holding[0]])
        return self.elf.bytes_of(int(holding[0]))[begin : begin + size]
