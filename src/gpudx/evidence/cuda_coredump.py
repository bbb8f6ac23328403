"""NVIDIA GPU core dumps (CUDA_ENABLE_COREDUMP_ON_EXCEPTION), read without cuda-gdb.

A dump is an ELF file with one section per table and per lane's registers; `_cuda_tables` has the format. This says
which kernel failed where, in which blocks and threads, and, when it can be proved from the registers, which addresses
the failing instruction accessed. Memory contents are not read: a dump of many gigabytes costs what its tables cost.

Is it whole? The driver writes the section table last, at the end of the file. A dump is complete when

    bytes 0-5 are 7f 'E' 'L' 'F' 02 01, the 2 bytes at 58 are 64, and the 8 bytes at 40 (`table`) are not 0;
    n is the 2 bytes at 60 or, when these are 0, the 8 bytes at table + 32 (the size of section 0), and not 0;
    table + 64 * n is not more than the file's size, and the last of the n entries is not all zeros,

which `is_complete` checks with three short reads; what holds the process until then can do the same in C.

What a dump lacks is said in `Dump.notes`, and why an address is missing in `Fault.no_access`. Limits: addresses are
decoded for loads, stores and atomics of sm_70 to sm_90 (loads and stores only after that), never guessed; source lines
need -lineinfo or -G; a fault whose warps had exited when it was reported has no block and no thread.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from gpudx import model
from gpudx.elf.header import HEADER, BadElf, ident, is_complete
from gpudx.elf.sections import Elf
from gpudx.errors import UserError
from gpudx.evidence import _cuda_exceptions as exceptions
from gpudx.evidence import _sass as sass
from gpudx.evidence._cubin import Place
from gpudx.evidence._cuda_dump import (
    TRAP,
    Access,
    Device,
    Dump,
    Fault,
    Grid,
    Lock,
    Module,
    Resident,
    Thread,
)
from gpudx.evidence._cuda_exceptions import short_name
from gpudx.evidence._cuda_reader import Reader
from gpudx.evidence._head import Source, head_of
from gpudx.evidence._words import sourced
from gpudx.model import Evidence, Finding
from gpudx.text import plural, triple

__all__ = [
    "FORMAT",
    "Access",
    "Device",
    "Dump",
    "Fault",
    "Grid",
    "Lock",
    "Module",
    "Place",
    "Resident",
    "Thread",
    "is_complete",
    "read",
    "short_name",
    "sniff",
    "to_findings",
]

FORMAT = "cuda-coredump"
CORE, CUDA_MACHINE = 4, 0xBE  # ELF type and machine


def sniff(source: Source) -> float:
    """1 for a GPU core dump, whole or cut off; 0 for anything else."""
    try:
        head = ident(head_of(source, HEADER))
    except BadElf:
        return 0.0
    return 1.0 if (head.type, head.machine) == (CORE, CUDA_MACHINE) else 0.0


def read(path: Path | str) -> Dump:
    """Reads a dump. Raises UserError, in one sentence, for a file that is no dump or was cut off."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            return Reader(path, Elf(_mapped(file.fileno(), path))).dump()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check its name and permissions.") from None
    except BadElf as error:
        raise UserError(f"the GPU core dump {path} {error}; keep the process alive until it is written") from None


def _mapped(descriptor: int, path: Path) -> memoryview:
    if not os.fstat(descriptor).st_size:
        raise UserError(f"the GPU core dump {path} is empty: the driver created it and wrote nothing")
    data = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    if bytes(data[:2]) == b"\x1f\x8b":
        raise UserError(f"{path} is compressed: unpack it first (gunzip {path})")
    if sniff(bytes(data[:HEADER])) == 0.0:
        raise UserError(f"{path} is not a GPU core dump of CUDA")
    return data


def to_findings(dump: Dump, raw: str | None = None) -> tuple[Finding, ...]:
    """One finding per fault. `raw` names the dump's file in the case directory."""
    return sourced((_finding(dump, fault) for fault in dump.faults), raw)


def _finding(dump: Dump, fault: Fault) -> Finding:
    name = exceptions.short_name(fault.exception)
    where = f" at {fault.place}" if fault.place else ""
    offset = f"{fault.place.offset:#x}" if fault.place else "?"
    return Finding(
        id=f"gpu-exception-{name}",
        severity="error",
        message=f"Kernel {fault.kernel} failed{where}: {fault.meaning}.",
        evidence=tuple(Evidence(text) for text in _sentences(dump, fault)),
        count=max(fault.warps, 1),
        facts=(("kernel", fault.kernel), ("exception", name), ("offset", offset)),
        access=_access(fault),
    )


def _sentences(dump: Dump, fault: Fault) -> Iterator[str]:
    yield from _trap_sentence(fault)
    yield f"the GPU core dump shows {fault.exception}: {fault.meaning}"
    if fault.detail:
        yield f"the driver adds: {fault.detail}"
    if fault.first:
        first = fault.first
        yield (
            f"{plural(fault.lanes, 'thread')} of {plural(fault.warps, 'warp')} in {plural(fault.blocks, 'block')} on"
            f" {plural(fault.sms, 'SM')}; the first is thread {triple(first.thread)} of block {triple(first.block)},"
            f" SM {first.sm}, warp {first.warp}"
        )
    if fault.grid:
        grid = fault.grid
        yield f"grid {grid.id}: {fault.kernel} with {triple(grid.grid)} blocks of {triple(grid.block)} threads"
    yield from _access_sentence(fault)
    yield from (f"called from {frame}" for frame in fault.frames)
    yield from (f"the dump is not whole: {note}" for note in dump.notes)


def _trap_sentence(fault: Fault) -> Iterator[str]:
    """A kernel whose code the compiler replaced is a few instructions, and touches no memory."""
    if fault.exception != TRAP or fault.function is None:
        return
    count, accesses = sass.sums_up(fault.function[0].code)
    if not accesses:
        yield f"the kernel's machine code has {plural(count, 'instruction')}, one of them the trap, and accesses no memory"


def _access_sentence(fault: Fault) -> Iterator[str]:
    access = fault.access
    if access is None:
        yield from (f"the accessed address is not known: {reason}" for reason in (fault.no_access,) if reason)
        return
    size = plural(access.size, "byte") if access.size else "unknown size"
    span = f"{access.lowest:#x}" if access.lowest == access.highest else f"{access.lowest:#x} to {access.highest:#x}"
    what = f"a {access.kind} of {size} in {access.space} memory"
    yield f"{access.instruction}, {what}, accessed {span} (decoded from the registers)"


def _access(fault: Fault) -> model.Access:
    access, first = fault.access, fault.first
    return model.Access(
        address=access.lowest if access else None,
        kind="" if access is None else "read" if access.kind == "read" else "write",
        by="kernel",
        kernel=fault.kernel,
        width=access.size if access else None,
        block=first.block if first else None,
        thread=first.thread if first else None,
        pc=fault.error_pc or None,
        source=fault.place.source if fault.place else None,
        space=access.space if access else "",
        exception=exceptions.short_name(fault.exception),
        seen_by="dump",
    )
