"""The tables of a CUDA core dump, made flat: one numpy table each of devices, grids, SMs, blocks, warps and lanes.

The format is described in the toolkit's cudacoredump.h: an ELF file whose section types start at 0x80000001, where a
section's link is the section of the table above it and its info the row there. So the names, megabytes of them in a
dump of a busy device, are never read. Later drivers append fields to the entries; comments name the driver release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpudx.elf.sections import STRTAB, Elf, Ints, Table, text_at


class Kind(IntEnum):
    """Section types."""

    GLOBAL = 0x80000002
    REGISTERS = 0x80000005
    IMAGE = 0x80000006
    RELOCATED_IMAGE = 0x80000007
    BACKTRACE = 0x80000008
    DEVICES = 0x80000009
    CONTEXTS = 0x8000000A
    SMS = 0x8000000B
    GRIDS = 0x8000000C
    BLOCKS = 0x8000000D
    WARPS = 0x8000000E
    LANES = 0x8000000F
    MODULES = 0x80000010
    PREDICATES = 0x80000011
    PARAMETERS = 0x80000012
    UNIFORM_REGISTERS = 0x80000013
    META = 0x80000016


def _dtype(*fields: str) -> np.dtype[np.void]:
    """Fields are "name" for 4 bytes, "name:8" for 8."""
    return np.dtype([(f.split(":")[0], "<u8" if f.endswith(":8") else "<u4") for f in fields])


DEVICE = _dtype(
    "name:8", "type:8", "sm_type:8", "id", "pci_bus", "pci_device", "sms", "warps", "lanes", "registers", "predicates",
    "sm_major", "sm_minor", "instruction", "status", "uniform_registers", "uniform_predicates", "barriers", "pad",
)  # fmt: skip
CONTEXT = _dtype("id:8", "shared:8", "local:8", "global:8", "device", "tid")
MODULE = _dtype("handle:8")
GRID = _dtype(
    "id:8", "context:8", "function:8", "entry:8", "module:8", "parent:8", "params:8", "kind", "origin", "status",
    "registers", "gx", "gy", "gz", "bx", "by", "bz", "blocking", "tid",
    "cx", "cy", "cz", "pad0",  # since r525
    "px", "py", "pz", "pad1",  # since r565
)  # fmt: skip
SM = _dtype(
    "id", "pad", "exception", "valid", "pc:8",  # since r555
    "target", "tx", "ty", "tz",  # since r565
    "text:8",  # since r580
)  # fmt: skip
BLOCK = _dtype("grid:8", "x", "y", "z", "pad0", "cx", "cy", "cz", "pad1", "dx", "dy", "dz", "pad2")
WARP = _dtype(
    "pc:8", "id", "mask", "active", "broken", "valid", "pad0", "registers", "pad1", "shared", "pad2",
    "syscall", "cbu_active", "cbu_exited", "cbu_collective",
)  # fmt: skip
LANE = _dtype("pc:8", "offset:8", "id", "x", "y", "z", "exception", "depth", "syscall_depth", "cc", "state", "pad")
FRAME = _dtype("offset:8", "pc:8", "level", "pad")
META = _dtype("generator:8", "driver_major", "driver_minor", "cuda_major", "cuda_minor", "flags", "time")

MOST_WORDS = 512  # registers of one thread: 255
MOST_ROWS = 1 << 21  # all lanes of the largest device are an eighth of this


@dataclass(frozen=True)
class _Layout:
    dtype: np.dtype[np.void]
    least: int  # entry size in the first version of the format
    most: int  # rows in one section, to bound what a damaged file can ask for


LAYOUTS = {
    Kind.DEVICES: _Layout(DEVICE, 72, 1024),
    Kind.CONTEXTS: _Layout(CONTEXT, 40, 4096),
    Kind.MODULES: _Layout(MODULE, 8, 1 << 20),
    Kind.GRIDS: _Layout(GRID, 104, 1 << 16),
    Kind.SMS: _Layout(SM, 8, 4096),
    Kind.BLOCKS: _Layout(BLOCK, 24, 256),
    Kind.WARPS: _Layout(WARP, 32, 256),
    Kind.LANES: _Layout(LANE, 48, 64),
    Kind.BACKTRACE: _Layout(FRAME, 24, 1024),
    Kind.META: _Layout(META, 32, 1),
}


@dataclass(frozen=True)
class Rows:
    """All sections of one kind as one table. `above` is the row of the table above that each row hangs on, or -1."""

    table: Table
    above: Ints
    start: Ints = field(repr=False)  # by section: its first row here, -1 for sections of other kinds
    count: Ints = field(repr=False)  # by section: its rows

    def __len__(self) -> int:
        return len(self.table)


class Tables:
    """The flat tables of one dump. What could not be read is said in `notes`."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self.notes: list[str] = []
        cut = int(np.count_nonzero(~elf.whole))
        if cut:
            self.notes.append(f"{cut:,} of {len(elf):,} sections lie outside the file and were left out")

    def _rows(self, kind: Kind, above: Rows | None) -> Rows:
        elf, layout = self.elf, LAYOUTS[kind]
        start, count = np.full(len(elf), -1, np.int64), np.zeros(len(elf), np.int64)
        tables: list[Table] = []
        total = 0
        for section in elf.of_type(kind):
            table = elf.rows(int(section), layout.dtype, layout.least, min(layout.most, MOST_ROWS - total))
            start[section], count[section] = total, len(table)
            tables.append(table)
            total += len(table)
        if total >= MOST_ROWS:
            self.notes.append(f"more than {MOST_ROWS:,} entries of {kind.name.lower()}: the rest was left out")
        table = np.concatenate(tables) if tables else np.zeros(0, layout.dtype)
        owners = self.owners(kind, above) if above is not None else elf.of_type(kind) * 0
        return Rows(table, np.repeat(owners, count[elf.of_type(kind)]), start, count)

    def owners(self, kind: Kind, above: Rows) -> Ints:
        """For each section of a kind the row of the table above that it belongs to, or -1."""
        sections = self.elf.sections[self.elf.of_type(kind)]
        link, info = sections["link"].astype(np.int64), sections["info"].astype(np.int64)
        known = link < len(self.elf)
        link = np.where(known, link, 0)
        known &= (above.start[link] >= 0) & (info < above.count[link])
        return np.where(known, above.start[link] + info, -1).astype(np.int64)

    def content(self, kind: Kind, above: Rows) -> Ints:
        """For each row of a table the section of a kind that belongs to it, or -1."""
        found = np.full(len(above), -1, np.int64)
        owners = self.owners(kind, above)
        found[owners[owners >= 0]] = self.elf.of_type(kind)[owners >= 0]
        return found

    @cached_property
    def devices(self) -> Rows:
        return self._rows(Kind.DEVICES, None)

    def _by_device(self, kind: Kind) -> Rows:
        """Tables that name their device by number: the link leads to the one device table, the info is the row."""
        return self._rows(kind, self.devices)

    @cached_property
    def contexts(self) -> Rows:
        return self._by_device(Kind.CONTEXTS)

    @cached_property
    def modules(self) -> Rows:
        return self._rows(Kind.MODULES, self.contexts)

    @cached_property
    def grids(self) -> Rows:
        return self._by_device(Kind.GRIDS)

    @cached_property
    def sms(self) -> Rows:
        return self._by_device(Kind.SMS)

    @cached_property
    def blocks(self) -> Rows:
        return self._rows(Kind.BLOCKS, self.sms)

    @cached_property
    def warps(self) -> Rows:
        return self._rows(Kind.WARPS, self.blocks)

    @cached_property
    def lanes(self) -> Rows:
        return self._rows(Kind.LANES, self.warps)

    @cached_property
    def meta(self) -> Table:
        return self._rows(Kind.META, None).table

    @cached_property
    def _strings(self) -> memoryview:
        names = self.elf.ident.names
        names = int(self.elf.sections["link"][0]) if names == 0xFFFF else names
        own = [int(s) for s in self.elf.of_type(STRTAB) if int(s) != names]
        return self.elf.bytes_of(own[0] if own else -1)

    def text(self, offset: int) -> str:
        """An entry of the dump's string table; 0 is the empty text."""
        return text_at(self._strings, offset)

    @cached_property
    def registers(self) -> Ints:
        """By lane: the section with its registers, or -1."""
        return self.content(Kind.REGISTERS, self.lanes)

    @cached_property
    def predicates(self) -> Ints:
        """By lane: the section with its predicates, or -1."""
        return self.content(Kind.PREDICATES, self.lanes)

    @cached_property
    def uniform_registers(self) -> Ints:
        """By warp: the section with its uniform registers, or -1."""
        return self.content(Kind.UNIFORM_REGISTERS, self.warps)

    def words(self, section: int) -> npt.NDArray[np.uint32]:
        """The 32-bit words of a section; empty for -1."""
        content = self.elf.bytes_of(section)
        count = min(len(content) // 4, MOST_WORDS)
        return np.frombuffer(content[: count * 4], dtype="<u4")

    def word(self, sections: Ints, index: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """One 32-bit word of each of many sections, and whether it is there (not for -1, nor past a section's end)."""
        chosen = np.maximum(sections, 0)
        table = self.elf.sections[chosen]
        there = (sections >= 0) & self.elf.whole[chosen] & (table["size"] >= 4 * (index + 1))
        start = np.where(there, table["offset"] + np.uint64(4 * index), 0).astype(np.int64)
        raw = np.frombuffer(self.elf.data, np.uint8)[start[:, None] + np.arange(4)]
        return np.ascontiguousarray(raw).view("<u4").ravel().astype(np.uint64), np.asarray(there, dtype=np.bool_)

    def frames(self, section: int) -> Table:
        layout = LAYOUTS[Kind.BACKTRACE]
        if section < 0:
            return np.zeros(0, layout.dtype)
        return self.elf.rows(section, layout.dtype, layout.least, layout.most)
