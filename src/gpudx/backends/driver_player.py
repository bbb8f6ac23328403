"""Plays a capsule through a driver like CUDA's: what the players of CUDA and HIP share. A player is a process of its own.

Memory is put back at its old addresses, so that pointers in parameters and in memory stay good. Where an address is taken, or the driver
cannot map memory, the block lies elsewhere, and words that point into it are moved with it.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpudx.capsule import file, played
from gpudx.capsule.model import Buffer, Bytes, Capsule, CodeKind
from gpudx.capsule.playing import Asked, Refused
from gpudx.capsule.relocate import moved

# cuda.h; hip_runtime_api.h has the same numbers
PINNED, DEVICE, READ_WRITE, MINIMUM = 1, 1, 3, 0
NOT_FOUND, NO_BINARY = 500, 209
DIMENSIONS, MOST_BLOCKS = 3, (1 << 31) - 1
USUAL_GRANULE = 2 << 20
FENCE = "GPUDX_FENCE"  # the recorder puts fences around allocations, not around mappings


class Properties(ctypes.Structure):
    """CUmemAllocationProp, and hipMemAllocationProp since HIP 6"""

    _fields_ = [
        ("type", c_int),
        ("handles", c_int),
        ("place", c_int),
        ("device", c_int),
        ("windows", c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class Access(ctypes.Structure):
    """CUmemAccessDesc, and hipMemAccessDesc since HIP 6"""

    _fields_ = [("place", c_int), ("device", c_int), ("flags", c_int)]


@dataclass(frozen=True)
class Names:
    """What a driver calls its functions, and what it is called."""

    api: str
    vendor: str  # with the device; "": nothing
    missing: str
    libraries: Iterable[str]
    codes: tuple[CodeKind, ...]
    init: str
    device_count: str
    device_name: str
    version: str
    load: str
    get_function: str
    get_global: str
    granularity: str
    reserve: str
    unreserve: str
    create: str
    map: str
    set_access: str
    allocate: str
    to_device: str
    to_host: str
    launch: str
    synchronise: str

    @property
    def mapping(self) -> tuple[str, ...]:
        return self.granularity, self.reserve, self.unreserve, self.create, self.map, self.set_access


class Player:
    """One capsule on one device."""

    names: ClassVar[Names]

    def __init__(self, capsule: Capsule, folder: Path, wanted: str) -> None:
        self.capsule, self.folder = capsule, folder
        self.result = played.Result(code=capsule.codes[0].kind if capsule.codes else "")
        self.stage("starting")
        self.driver = self._load()
        self.must(self.names.init, 0)
        self.device = self._device(wanted)
        self.use_device()
        self.places: dict[int, int] = {}
        self.blocks: list[tuple[int, int, int]] = []  # old address, size, new address

    # -- what differs --

    def use_device(self) -> None:
        """Make the device current."""
        raise NotImplementedError

    def version_text(self, version: int) -> str:
        raise NotImplementedError

    def prepare(self, function: c_void_p, shared: int) -> None:
        """Whatever a launch with so many bytes of dynamic shared memory needs."""

    def why_unmapped(self) -> str:
        """Why memory cannot be mapped at its old addresses; "": it can."""
        return ""

    # -- calls --

    def _load(self) -> ctypes.CDLL:
        for name in self.names.libraries:
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
        raise Refused(self.names.missing)

    def call(self, name: str, *values: Any) -> int:
        """The status of a call."""
        return int(getattr(self.driver, name)(*values))

    def must(self, name: str, *values: Any, of: str = "") -> None:
        self.check(self.call(name, *values), name.removesuffix("_v2") + of)

    def stage(self, name: str) -> None:
        self.result.stage = name
        self.result.write(self.folder)

    def check(self, status: int, call: str) -> None:
        if status:
            raise Refused(f"{call} returned {status}{f' on {self.result.device}' if self.result.device else ''}")

    def _device(self, wanted: str) -> int:
        count, version = c_int(), c_int()
        self.must(self.names.device_count, byref(count))
        self.call(self.names.version, byref(version))
        names = []
        for number in range(count.value):
            room = ctypes.create_string_buffer(256)
            self.call(self.names.device_name, room, len(room), number)
            names.append(room.value.decode(errors="replace"))
        found = [n for n, name in enumerate(names) if wanted.lower() in name.lower()]
        if wanted.isdigit() and int(wanted) < len(names):
            found = [int(wanted)]
        if not found:
            raise Refused(
                f"no device is called {wanted!r} here: choose from {', '.join(names) or 'none'}"
                if wanted
                else f"no {self.names.api} device is here"
            )
        driver = ", ".join(filter(None, [self.names.vendor, self.version_text(version.value)]))
        self.result.device = f"{names[found[0]]} ({driver})"
        return found[0]

    # -- code --

    def build(self) -> tuple[c_void_p, c_void_p]:
        """The module and the kernel."""
        self.stage("building")
        code = self.capsule.code(*self.names.codes)
        if code is None:
            raise Refused(f"the capsule holds no {self.names.api} code")
        module, function = c_void_p(), c_void_p()
        status = self.call(self.names.load, byref(module), c_char_p(code.data + b"\0"))
        if status == NO_BINARY:
            raise Refused(
                f"the {code.kind} was compiled for other devices ({self.capsule.device.version}) than {self.result.device}"
            )
        self.check(status, self.names.load)
        self.must(self.names.get_function, byref(function), module, self.capsule.kernel.encode())
        self.prepare(function, self.capsule.geometry.shared)
        return module, function

    # -- memory --

    def place(self, module: c_void_p) -> None:
        """All buffers, before anything is written: content may point to any of them."""
        self.stage("preparing")
        for one in self.capsule.buffers:
            if one.symbol:
                self._symbol(module, one)
        plain = [one for one in self.capsule.buffers if not one.symbol]
        why = "fences are put around allocations" if os.environ.get(FENCE) else self.why_unmapped()
        if why and plain:
            self.result.notes.append(f"{why}: pointers into {sum(one.size for one in plain):,} bytes were moved")
        for start, end in [(0, 1 << 64)] if why else self._ranges():
            inside = [one for one in plain if start <= one.address < end]
            mapped = not why and self._mapped(start, end - start)
            for one in inside:
                self._put(one, one.address if mapped else self._allocated(one.size))

    def _put(self, one: Buffer, address: int) -> None:
        self.places[one.number] = address
        self.blocks.append((one.address, one.size, address))

    def _symbol(self, module: c_void_p, one: Buffer) -> None:
        """A variable of the module; one that it does not have belongs to another, and the kernel can only have its address."""
        address, size = c_uint64(), c_size_t()
        status = self.call(self.names.get_global, byref(address), byref(size), module, one.symbol.encode())
        if status == NOT_FOUND or size.value != one.size:
            self._put(one, self._allocated(one.size))
            return
        self.check(status, f"{self.names.get_global.removesuffix('_v2')} of {one.symbol}")
        self._put(one, int(address.value))

    def _ranges(self) -> list[tuple[int, int]]:
        """What has to be mapped: whole granules, each once."""
        properties, granule = Properties(type=PINNED, place=DEVICE, device=self.device), c_size_t()
        status = self.call(self.names.granularity, byref(granule), byref(properties), MINIMUM)
        size = granule.value if not status and granule.value else USUAL_GRANULE
        found: list[tuple[int, int]] = []
        for one in sorted((one for one in self.capsule.buffers if not one.symbol), key=lambda one: one.address):
            start, end = one.address // size * size, -(-(one.address + one.size) // size) * size
            if found and start < found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], end)
            else:
                found.append((start, end))
        return found

    def _mapped(self, start: int, size: int) -> bool:
        """Memory at this address; False: it is taken."""
        place, handle = c_uint64(), c_uint64()
        status = self.call(self.names.reserve, byref(place), c_size_t(size), c_size_t(0), c_uint64(start), c_uint64(0))
        if status or place.value != start:
            if not status:
                self.call(self.names.unreserve, place, c_size_t(size))
            self.result.notes.append(f"address {start:#x} is taken here: pointers into {size:,} bytes were moved")
            return False
        properties = Properties(type=PINNED, place=DEVICE, device=self.device)
        self.must(self.names.create, byref(handle), c_size_t(size), byref(properties), c_uint64(0), of=f" of {size:,} bytes")
        self.must(self.names.map, place, c_size_t(size), c_size_t(0), handle, c_uint64(0))
        access = Access(DEVICE, self.device, READ_WRITE)
        self.must(self.names.set_access, place, c_size_t(size), byref(access), c_size_t(1))
        return True

    def _allocated(self, size: int) -> int:
        place = c_uint64()
        self.must(self.names.allocate, byref(place), c_size_t(size), of=f" of {size:,} bytes")
        return int(place.value)

    def fill(self) -> None:
        for one in self.capsule.buffers:
            content = one.before if one.before is not None else np.zeros(one.size, dtype=np.uint8)
            data = np.ascontiguousarray(moved(content, self.blocks))
            place = c_uint64(self.places[one.number])
            self.must(self.names.to_device, place, data.ctypes.data_as(c_void_p), c_size_t(one.size))

    def read(self) -> dict[int, Bytes]:
        self.stage("reading")
        back = [(new, size, old) for old, size, new in self.blocks]
        found = {}
        for one in self.capsule.buffers:
            room = np.empty(one.size, dtype=np.uint8)
            place = c_uint64(self.places[one.number])
            self.must(self.names.to_host, room.ctypes.data_as(c_void_p), place, c_size_t(one.size))
            found[one.number] = moved(room, back)
        return found

    # -- the launch --

    def launch(self, function: c_void_p) -> int:
        """How many nanoseconds it took; 0: it was refused."""
        self.stage("launching")
        shape = self.capsule.geometry
        if len(shape.local) != DIMENSIONS or any(g % b or g // b > MOST_BLOCKS for g, b in zip(shape.global_, shape.local, strict=True)):
            raise Refused(f"its sizes are not those of a {self.names.api} launch")
        grid = [g // b for g, b in zip(shape.global_, shape.local, strict=True)]
        values: list[Any] = []
        for one in self.capsule.arguments:
            data = moved(np.frombuffer(one.value, dtype=np.uint8), self.blocks).tobytes()
            values.append(ctypes.create_string_buffer(data, len(data)))
        pointers = (c_void_p * max(1, len(values)))(*(ctypes.addressof(one) for one in values))
        began = time.perf_counter_ns()
        sizes = [c_uint(one) for one in (*grid, *shape.local, shape.shared)]
        status = self.call(self.names.launch, function, *sizes, None, pointers if values else None, None)
        if status:
            self.result.status = status
            return 0
        self.result.status = self.call(self.names.synchronise)
        return max(1, time.perf_counter_ns() - began)

    def play(self, asked: Asked) -> None:
        module, function = self.build()
        self.place(module)
        for _ in range(asked.times):
            self.stage("preparing")
            self.fill()
            self.result.times_ns.append(self.launch(function))
            if self.result.status:
                break
            self.result.outputs.append(played.keep(self.folder, self.read()))
        self.stage("done")

    @classmethod
    def of(cls, asked: Asked) -> Player:
        if asked.source or asked.options:
            raise Refused(f"variants are OpenCL sources, and this is a {cls.names.api} launch")
        return cls(file.read(asked.capsule), asked.folder, asked.device)
