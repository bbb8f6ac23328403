"""Plays a capsule through the CUDA driver: python -m gpudx.backends.cuda.player CAPSULE FOLDER [options]. A process of its own.

Memory is put back at its old addresses (cuMemAddressReserve at an address), so that pointers in parameters and in memory stay good. Where
an address is taken, the block lies elsewhere, and words that point into it are moved with it.
"""

from __future__ import annotations

import ctypes
import sys
import time
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from gpudx.capsule import file, played, playing
from gpudx.capsule.model import Buffer, Bytes, Capsule
from gpudx.capsule.playing import Asked, Refused
from gpudx.capsule.relocate import moved

# cuda.h
PINNED, DEVICE, READ_WRITE, MINIMUM = 1, 1, 3, 0
MAJOR, MINOR = 75, 76
NOT_FOUND, NO_BINARY = 500, 209
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
USUAL_SHARED = 48 << 10
DIMENSIONS, MOST_BLOCKS = 3, (1 << 31) - 1


class Properties(ctypes.Structure):
    """CUmemAllocationProp"""

    _fields_ = [
        ("type", c_int),
        ("handles", c_int),
        ("place", c_int),
        ("device", c_int),
        ("windows", c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class Access(ctypes.Structure):
    """CUmemAccessDesc"""

    _fields_ = [("place", c_int), ("device", c_int), ("flags", c_int)]


class Player:
    """One capsule on one device."""

    def __init__(self, capsule: Capsule, folder: Path, wanted: str) -> None:
        self.capsule, self.folder = capsule, folder
        self.result = played.Result(code=capsule.codes[0].kind if capsule.codes else "")
        self.stage("starting")
        try:
            self.cu = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise Refused("there is no CUDA driver (libcuda.so.1) here") from None
        self.check(self.cu.cuInit(0), "cuInit")
        self.device = self._device(wanted)
        context = c_void_p()
        self.check(self.cu.cuDevicePrimaryCtxRetain(byref(context), self.device), "cuDevicePrimaryCtxRetain")
        self.check(self.cu.cuCtxSetCurrent(context), "cuCtxSetCurrent")
        self.places: dict[int, int] = {}
        self.blocks: list[tuple[int, int, int]] = []  # old address, size, new address

    def stage(self, name: str) -> None:
        self.result.stage = name
        self.result.write(self.folder)

    def check(self, status: int, call: str) -> None:
        if status:
            raise Refused(f"{call} returned {status}{f' on {self.result.device}' if self.result.device else ''}")

    def _device(self, wanted: str) -> int:
        count, version = c_int(), c_int()
        self.check(self.cu.cuDeviceGetCount(byref(count)), "cuDeviceGetCount")
        self.cu.cuDriverGetVersion(byref(version))
        names = []
        for number in range(count.value):
            room = ctypes.create_string_buffer(256)
            self.cu.cuDeviceGetName(room, len(room), number)
            names.append(room.value.decode(errors="replace"))
        found = [n for n, name in enumerate(names) if wanted.lower() in name.lower()]
        if wanted.isdigit() and int(wanted) < len(names):
            found = [int(wanted)]
        if not found:
            raise Refused(
                f"no device is called {wanted!r} here: choose from {', '.join(names) or 'none'}"
                if wanted
                else "no CUDA device is here"
            )
        driver = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
        self.result.device = f"{names[found[0]]} (NVIDIA CUDA, {driver})"
        return found[0]

    # -- code --

    def build(self) -> tuple[c_void_p, c_void_p]:
        """The module and the kernel."""
        self.stage("building")
        code = self.capsule.code("cubin", "fatbin", "ptx")
        if code is None:
            raise Refused("the capsule holds no CUDA code")
        module, function = c_void_p(), c_void_p()
        status = self.cu.cuModuleLoadData(byref(module), c_char_p(code.data + b"\0"))
        if status == NO_BINARY:
            raise Refused(
                f"the {code.kind} was compiled for other devices ({self.capsule.device.version}) than {self.result.device}"
            )
        self.check(status, "cuModuleLoadData")
        self.check(
            self.cu.cuModuleGetFunction(byref(function), module, self.capsule.kernel.encode()), "cuModuleGetFunction"
        )
        shared = self.capsule.geometry.shared
        if shared > USUAL_SHARED:
            self.cu.cuFuncSetAttribute(function, DYNAMIC_SHARED, c_int(shared))
        return module, function

    # -- memory --

    def place(self, module: c_void_p) -> None:
        """All buffers, before anything is written: content may point to any of them."""
        self.stage("preparing")
        for one in self.capsule.buffers:
            if one.symbol:
                self._symbol(module, one)
        ranges = self._ranges()
        for start, end in ranges:
            inside = [one for one in self.capsule.buffers if not one.symbol and start <= one.address < end]
            if self._mapped(start, end - start):
                for one in inside:
                    self._put(one, one.address)
            else:
                for one in inside:
                    self._put(one, self._allocated(one.size))

    def _put(self, one: Buffer, address: int) -> None:
        self.places[one.number] = address
        self.blocks.append((one.address, one.size, address))

    def _symbol(self, module: c_void_p, one: Buffer) -> None:
        """A variable of the module; one that it does not have belongs to another, and the kernel can only have its address."""
        address, size = c_uint64(), c_size_t()
        status = self.cu.cuModuleGetGlobal_v2(byref(address), byref(size), module, one.symbol.encode())
        if status == NOT_FOUND or size.value != one.size:
            self._put(one, self._allocated(one.size))
            return
        self.check(status, f"cuModuleGetGlobal of {one.symbol}")
        self._put(one, int(address.value))

    def _ranges(self) -> list[tuple[int, int]]:
        """What has to be mapped: whole granules, each once."""
        properties, granule = Properties(type=PINNED, place=DEVICE, device=self.device), c_size_t()
        status = self.cu.cuMemGetAllocationGranularity(byref(granule), byref(properties), MINIMUM)
        size = granule.value if not status and granule.value else 2 << 20
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
        status = self.cu.cuMemAddressReserve(byref(place), c_size_t(size), c_size_t(0), c_uint64(start), c_uint64(0))
        if status or place.value != start:
            if not status:
                self.cu.cuMemAddressFree(place, c_size_t(size))
            self.result.notes.append(f"address {start:#x} is taken here: pointers into {size:,} bytes were moved")
            return False
        properties = Properties(type=PINNED, place=DEVICE, device=self.device)
        self.check(
            self.cu.cuMemCreate(byref(handle), c_size_t(size), byref(properties), c_uint64(0)),
            f"cuMemCreate of {size:,} bytes",
        )
        self.check(self.cu.cuMemMap(place, c_size_t(size), c_size_t(0), handle, c_uint64(0)), "cuMemMap")
        access = Access(DEVICE, self.device, READ_WRITE)
        self.check(self.cu.cuMemSetAccess(place, c_size_t(size), byref(access), c_size_t(1)), "cuMemSetAccess")
        return True

    def _allocated(self, size: int) -> int:
        place = c_uint64()
        self.check(self.cu.cuMemAlloc_v2(byref(place), c_size_t(size)), f"cuMemAlloc of {size:,} bytes")
        return int(place.value)

    def fill(self) -> None:
        for one in self.capsule.buffers:
            content = one.before if one.before is not None else np.zeros(one.size, dtype=np.uint8)
            data = np.ascontiguousarray(moved(content, self.blocks))
            status = self.cu.cuMemcpyHtoD_v2(
                c_uint64(self.places[one.number]), data.ctypes.data_as(c_void_p), c_size_t(one.size)
            )
            self.check(status, "cuMemcpyHtoD")

    def read(self) -> dict[int, Bytes]:
        self.stage("reading")
        back = [(new, size, old) for old, size, new in self.blocks]
        found = {}
        for one in self.capsule.buffers:
            room = np.empty(one.size, dtype=np.uint8)
            status = self.cu.cuMemcpyDtoH_v2(
                room.ctypes.data_as(c_void_p), c_uint64(self.places[one.number]), c_size_t(one.size)
            )
            self.check(status, "cuMemcpyDtoH")
            found[one.number] = moved(room, back)
        return found

    # -- the launch --

    def launch(self, function: c_void_p) -> int:
        self.stage("launching")
        shape = self.capsule.geometry
        if len(shape.local) != DIMENSIONS or any(g % b or g // b > MOST_BLOCKS for g, b in zip(shape.global_, shape.local, strict=True)):
            raise Refused("its sizes are not those of a CUDA launch")
        grid = [g // b for g, b in zip(shape.global_, shape.local, strict=True)]
        values: list[Any] = []
        for one in self.capsule.arguments:
            data = moved(np.frombuffer(one.value, dtype=np.uint8), self.blocks).tobytes()
            values.append(ctypes.create_string_buffer(data, len(data)))
        pointers = (c_void_p * max(1, len(values)))(*(ctypes.addressof(one) for one in values))
        began = time.perf_counter_ns()
        sizes = [c_uint(one) for one in (*grid, *shape.local, shape.shared)]
        status = self.cu.cuLaunchKernel(function, *sizes, None, pointers if values else None, None)
        if status:
            self.result.status = status
            return 0
        self.result.status = self.cu.cuCtxSynchronize()
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


def _player(asked: Asked) -> Player:
    if asked.source or asked.options:
        raise Refused("variants are OpenCL sources, and this is a CUDA launch")
    return Player(file.read(asked.capsule), asked.folder, asked.device)


if __name__ == "__main__":
    sys.exit(playing.main(None, _player))
