"""Builds small GPU core dumps and device images: real layout, invented content."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gpudx.evidence import _cuda_tables as t
from gpudx.evidence._cuda_tables import Kind

CODE = 0x7F0000100000  # where the kernel of `image` was loaded
HANDLE, CONTEXT = 0x5500, 0x4400
STRTAB, SYMTAB, PROGBITS = 3, 2, 1


# -- machine code


def word(op: int, **fields: int) -> int:
    """An instruction from `b12_15=7`-style fields (bits 12 to 15), with guard "always", no scoreboards."""
    value = op | 7 << 12 | 7 << 110 | 7 << 113
    for name, number in fields.items():
        low, _, high = name[1:].partition("_")
        first, last = int(low), int(high or low)
        mask = (1 << (last - first + 1)) - 1
        value = value & ~(mask << first) | (number & mask) << first
    return value


def ldg(result: int, register: int, offset: int = 0, size: int = 4, board: int = 7, **more: int) -> int:
    """LDG.E R, desc[UR4][R.64+offset]"""
    fields = {
        "b16_23": result,
        "b24_31": register,
        "b32_37": 4,
        "b40_63": offset,
        "b72": 1,
        "b73_75": size,
        "b76": 1,
        "b81_83": 7,
        "b90_91": 3,
        "b110_112": board,
    }
    return word(0x981, **{**fields, **more})


def stg(register: int, offset: int = 0, size: int = 4, **more: int) -> int:
    """STG.E desc[UR4][R.64+offset], R8"""
    fields = {
        "b24_31": register,
        "b32_39": 8,
        "b40_63": offset,
        "b64_69": 4,
        "b72": 1,
        "b73_75": size,
        "b76": 1,
        "b90_91": 3,
    }
    return word(0x986, **{**fields, **more})


def mov(result: int, **more: int) -> int:
    return word(0x202, **{"b16_23": result, "b32_39": 3, **more})


def bra(away: int, **more: int) -> int:
    """A branch `away` bytes from the next instruction, sm_90 encoding."""
    quarter = (away // 4) & ((1 << 56) - 1)
    return word(0x947, **{"b16_23": quarter & 0xFF, "b34_81": quarter >> 8, "b87_90": 7, **more})


EXIT = word(0x94D, b87_90=7)
TRAP = word(0x95C, b84_86=3)
NOP = word(0x918)


def code(*words: int) -> bytes:
    return b"".join(w.to_bytes(16, "little") for w in words)


# -- ELF


@dataclass
class Section:
    name: str = ""
    type: int = PROGBITS
    data: bytes = b""
    link: int = 0
    info: int = 0
    addr: int = 0
    flags: int = 0
    entsize: int = 0


def elf(sections: list[Section], kind: int = 4, abi: int = 0x33, extended: bool = False) -> bytes:
    """An ELF file: header, contents, names, section table. `extended` puts count and name index into section 0."""
    names = b"\0"
    offsets = []
    every = [Section(type=0), *sections, Section(".shstrtab", STRTAB)]
    for section in every:
        offsets.append(len(names) if section.name else 0)
        names += section.name.encode() + b"\0" if section.name else b""
    every[-1].data = names
    content, at = bytearray(64), []
    for section in every:
        at.append(len(content))
        content += section.data
    table, count, last = len(content), len(every), len(every) - 1
    for number, (section, name, offset) in enumerate(zip(every, offsets, at, strict=True)):
        size, link = (count, last) if extended and number == 0 else (len(section.data), section.link)
        content += struct.pack(
            "<IIQQQQIIQQ",
            name,
            section.type,
            section.flags,
            section.addr,
            offset if number else 0,
            size,
            link,
            section.info,
            0,
            section.entsize,
        )
    head = b"\x7fELF\x02\x01\x01" + bytes([abi, 7]) + bytes(7)
    head += struct.pack(
        "<HHIQQQIHHHHHH",
        kind,
        0xBE,
        1,
        0,
        0,
        table,
        0,
        64,
        0,
        0,
        64,
        0 if extended else count,
        0xFFFF if extended else last,
    )
    content[:64] = head
    return bytes(content)


def line_table(start: int, rows: list[tuple[int, int]], end: int, file: str = "k.cu", folder: str = "/src") -> bytes:
    """A DWARF 2 line program: (offset, line) rows of one function."""
    folders = folder.encode() + b"\0\0" if folder else b"\0"
    files = folders + file.encode() + bytes([0, int(bool(folder)), 0, 0, 0])
    header = bytes([1, 1, 0xFB, 14, 10]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + files
    program, offset, line = b"\x00\x09\x02" + struct.pack("<Q", start), 0, 1
    for where, number in rows:
        program += b"\x02" + _uleb(where - offset) + b"\x03" + _sleb(number - line) + b"\x01"
        offset, line = where, number
    program += b"\x02" + _uleb(end - offset) + b"\x00\x01\x01"
    body = struct.pack("<HI", 2, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


def _uleb(value: int) -> bytes:
    out = b""
    while True:
        byte, value = value & 0x7F, value >> 7
        out += bytes([byte | (0x80 if value else 0)])
        if not value:
            return out


def _sleb(value: int) -> bytes:
    out = b""
    while True:
        byte, value = value & 0x7F, value >> 7
        done = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        out += bytes([byte | (0 if done else 0x80)])
        if done:
            return out


def image(text: bytes, name: str = "_Z4sinkPfi", start: int = CODE, lines: bytes = b"") -> bytes:
    """A relocated device image with one kernel."""
    strings = b"\0" + name.encode() + b"\0"
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0, 1, start, len(text))
    return elf(
        [
            Section(f".text.{name}", PROGBITS, text, addr=start, flags=6),
            Section(".symtab", SYMTAB, bytes(24) + symbol, link=3, entsize=24),
            Section(".strtab", STRTAB, strings),
            Section(".debug_line", PROGBITS, lines),
        ],
        kind=2,
        abi=0x41,
    )


# -- the dump


@dataclass
class Lane:
    registers: list[int] = field(default_factory=lambda: [0] * 16)
    pc: int = CODE
    exception: int = 0
    thread: tuple[int, int, int] = (0, 0, 0)
    predicates: list[int] = field(default_factory=lambda: [0] * 8)
    frames: list[int] = field(default_factory=list)


@dataclass
class Warp:
    lanes: list[Lane]
    error_pc: int = 0
    broken: int = 0
    uniform: list[int] = field(default_factory=lambda: [0] * 64)
    shared: int = 0


@dataclass
class Block:
    warps: list[Warp]
    index: tuple[int, int, int] = (0, 0, 0)


@dataclass
class Sm:
    blocks: list[Block] = field(default_factory=list)
    exception: int = 0
    error_pc: int = 0


def _row(dtype: np.dtype[np.void], size: int = 0, **values: int) -> bytes:
    row = np.zeros(1, dtype)
    for name, value in values.items():
        row[name] = value
    return row.tobytes()[: size or None]


@dataclass
class Dump:
    """A dump of one device with one kernel. `old` writes the entries of the format's first version."""

    image: bytes
    sms: list[Sm]
    parameters: bytes | None = b"\x10\0\0\0\0\0\0\0\x07\0\0\0"
    entry: int = CODE
    sm: int = 90
    old: bool = False
    extended: bool = False
    extra: list[Section] = field(default_factory=list)

    def build(self) -> bytes:
        self.out = [Section(".strtab", STRTAB, b"\0Some GPU\0")]
        major, minor = divmod(self.sm, 10)
        devices = self._add(
            Kind.DEVICES, self._rows(t.DEVICE, 72, {"name": 1, "sm_major": major, "sm_minor": minor, "sms": 2})
        )
        contexts = self._add(Kind.CONTEXTS, self._rows(t.CONTEXT, 40, {"id": CONTEXT, "tid": 77}), devices, size=40)
        modules = self._add(Kind.MODULES, self._rows(t.MODULE, 8, {"handle": HANDLE}), contexts, size=8)
        self._add(Kind.RELOCATED_IMAGE, self.image, modules)
        grid = {
            "id": 6,
            "context": CONTEXT,
            "entry": self.entry,
            "module": HANDLE,
            "params": 0x210,
            "registers": 16,
            "tid": 77,
            "gx": 4,
            "gy": 1,
            "gz": 1,
            "bx": 64,
            "by": 1,
            "bz": 1,
        }
        grids = self._add(Kind.GRIDS, self._rows(t.GRID, 104, grid), devices)
        if self.parameters is not None:
            self._add(Kind.PARAMETERS, self.parameters, grids)
        self._sms(devices)
        if not self.old:
            meta = {"driver_major": 580, "driver_minor": 12, "cuda_major": 13, "time": 1234, "flags": 0x12}
            self._add(Kind.META, _row(t.META, **meta))
        return elf(self.out + self.extra, extended=self.extended)

    def _sms(self, devices: int) -> None:
        rows = [
            {"id": n, "exception": sm.exception, "valid": int(sm.error_pc > 0), "pc": sm.error_pc}
            for n, sm in enumerate(self.sms)
        ]
        table = self._add(Kind.SMS, self._rows(t.SM, 8, *rows), devices)
        for number, sm in enumerate(self.sms):
            blocks = [dict(zip("xyz", b.index, strict=True), grid=6) for b in sm.blocks]
            section = self._add(Kind.BLOCKS, self._rows(t.BLOCK, 24, *blocks), table, number)
            for index, block in enumerate(sm.blocks):
                self._warps(block, section, index)

    def _warps(self, block: Block, above: int, index: int) -> None:
        rows = [
            {
                "pc": w.error_pc,
                "valid": int(w.error_pc > 0),
                "id": n,
                "broken": w.broken,
                "shared": w.shared,
                "mask": (1 << len(w.lanes)) - 1,
                "active": (1 << len(w.lanes)) - 1,
            }
            for n, w in enumerate(block.warps)
        ]
        section = self._add(Kind.WARPS, self._rows(t.WARP, 32, *rows), above, index)
        for number, warp in enumerate(block.warps):
            self._add(Kind.UNIFORM_REGISTERS, _words(warp.uniform), section, number)
            self._lanes(warp, section, number)

    def _lanes(self, warp: Warp, above: int, number: int) -> None:
        rows = [
            {"pc": lane.pc, "id": n, "exception": lane.exception, **dict(zip("xyz", lane.thread, strict=True))}
            for n, lane in enumerate(warp.lanes)
        ]
        section = self._add(Kind.LANES, self._rows(t.LANE, 48, *rows), above, number)
        for n, lane in enumerate(warp.lanes):
            self._add(Kind.REGISTERS, _words(lane.registers), section, n)
            self._add(Kind.PREDICATES, _words(lane.predicates), section, n)
            frames = b"".join(_row(t.FRAME, pc=pc, level=level) for level, pc in enumerate(lane.frames))
            self._add(Kind.BACKTRACE, frames, section, n, 24)

    def _rows(self, dtype: np.dtype[np.void], least: int, *rows: dict[str, int]) -> tuple[bytes, int]:
        size = least if self.old else dtype.itemsize
        return b"".join(_row(dtype, size, **row) for row in rows), size

    def _add(self, kind: int, data: bytes | tuple[bytes, int], link: int = 0, info: int = 0, size: int = 0) -> int:
        content, entry = data if isinstance(data, tuple) else (data, size)
        self.out.append(Section("", kind, content, link, info, entsize=entry))
        return len(self.out)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.build())
        return path


def _words(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def with_address(register: int, address: int, count: int = 16) -> list[int]:
    """Registers of which a pair holds an address."""
    registers = [0] * count
    registers[register], registers[register + 1] = address & 0xFFFFFFFF, address >> 32
    return registers
