"""The machine code of one kernel, out of the files that a program was made of.

A driver takes the cubin of its device's version, else the nearest earlier one of the same major version; without one it compiles PTX,
whose machine code is in no file. Large libraries are looked at as long as `deadline` allows.
"""

from __future__ import annotations

import mmap
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpudx.backends.cuda.images import EM_CUDA, Code
from gpudx.backends.mangling import function_name
from gpudx.elf.header import BadElf
from gpudx.elf.sections import Elf
from gpudx.evidence import _nvidia_code
from gpudx.evidence._amd_code import kernel_at
from gpudx.evidence._compressed import Unreadable
from gpudx.evidence._device_code import Function
from gpudx.evidence.code_objects import CUDA_SECTIONS, cubins, ptx_in

__all__ = ["Function", "alignments", "find", "kernel_at", "ptx_of"]

MOST_BYTES = 1 << 30  # of one section of device code


def find(paths: Iterable[Path], symbol: str, device: Mapping[str, int], deadline: float) -> Function | None:
    """The code that a device of these numbers runs for a kernel; None where it is not found, or not in time."""
    best: tuple[int, Function] | None = None
    for code, elf in _images(paths, symbol, device, deadline):
        found = _nvidia_code.function(elf, _mangled(elf, symbol), code.architecture)
        if found and (best is None or code.architecture > best[0]):
            best = code.architecture, found
    return best[1] if best else None


def _images(
    paths: Iterable[Path], symbol: str, device: Mapping[str, int], deadline: float
) -> Iterator[tuple[Code, Elf]]:
    """Cubins that the device can run and that have the symbol's name in them."""
    name = symbol.encode()
    for path in paths:
        for section in _sections(path):
            for code, read in cubins(section):
                if time.monotonic() > deadline:
                    return
                if not code.runs_on(device):
                    continue
                try:
                    data = read()
                    if name in bytes(data):
                        yield code, Elf(data)
                except (Unreadable, BadElf):
                    continue


def ptx_of(path: Path, symbol: str) -> str:
    """The PTX in a program that has a kernel; "" where there is none."""
    entry = re.compile(rf"\.entry\s+{re.escape(symbol)}\b")
    return next((text for section in _sections(path) for text in ptx_in(section) if entry.search(text)), "")


def alignments(path: Path, variable: str) -> Iterator[int]:
    """Of a variable of the device, as each PTX in a program declares it."""
    declared = re.compile(rf"^[ \t]*(?:\.\w+[ \t]+){{0,4}}\.align[ \t]+(\d{{1,4}})[ \t]+\.\w+[ \t]+{re.escape(variable)}\b", re.MULTILINE)
    for section in _sections(path):
        for text in ptx_in(section):
            if variable in text and (found := declared.search(text)):
                yield int(found[1])


def _mangled(elf: Elf, name: str) -> str:
    """The symbol of a kernel that is known by its plain name; the name itself where several have it."""
    if f"{_nvidia_code.TEXT}{name}" in elf.by_name:
        return name
    symbols = [one.removeprefix(_nvidia_code.TEXT) for one in elf.by_name if one.startswith(_nvidia_code.TEXT)]
    alike = [symbol for symbol in symbols if function_name(symbol) == name]
    return alike[0] if len(alike) == 1 else name


def _sections(path: Path) -> Iterator[memoryview]:
    """The parts of a file that hold device code."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        elf = Elf(data)
    except (OSError, ValueError, BadElf):
        return
    if elf.ident.machine == EM_CUDA:
        yield data
        return
    for name, index in elf.by_name.items():
        if name.startswith(CUDA_SECTIONS):
            section = elf.bytes_of(index)
            if len(section) <= MOST_BYTES:
                yield section
