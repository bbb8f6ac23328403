"""Plays a capsule through OpenCL: python -m gpudx.backends.opencl.player CAPSULE FOLDER [options]. A process of its own: it may crash.

OpenCL is called through ctypes, so that neither pyopencl nor headers are needed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from gpudx.backends.opencl import bundled_loader
from gpudx.backends.opencl.icds import drivers
from gpudx.capsule import file, played, playing
from gpudx.capsule.model import Argument, Buffer, Bytes, Capsule
from gpudx.capsule.playing import Asked, Refused
from gpudx.capsule.relocate import moved
from gpudx.errors import UserError

# CL/cl.h
PLATFORM_NAME, DEVICE_NAME, DRIVER_VERSION, DEVICE_SVM, BUILD_LOG = 0x0902, 0x102B, 0x102D, 0x1053, 0x1183
ALL_DEVICES, MOST = 0xFFFFFFFF, 64
READ_WRITE, COPY_HOST_PTR, ACCESS_FLAGS = 1, 32, 7
PROFILING = 2
STARTED, ENDED = 0x1282, 0x1283
SVM_POINTERS, REGION, FINE_SYSTEM = 0x11B6, 0x1220, 8
EVENT_STATUS = 0x11D3
# Options that say how code is compiled; others name files, or are a vendor's own.
SAFE = ("-D", "-U", "-cl-", "-w", "-Werror", "-g", "-O", "-fno-", "-ffp-")
ALIASES = {"pocl": "portable computing language"}  # its devices are not called by its name
MAP_FIXED_NOREPLACE = 0x100000


def safe_options(text: str) -> tuple[str, list[str]]:
    """The options that are passed on, and those that are not."""
    kept, left = [], []
    try:
        words = iter(shlex.split(text))
    except ValueError:
        raise UserError("the build options of the capsule end inside a quotation") from None
    for word in words:
        if word in ("-D", "-U"):
            kept.append(word + next(words, ""))
        elif word in ("-I", "-x", "-include"):
            left.append(f"{word} {next(words, '')}")
        elif word.startswith(SAFE) and not word.startswith("-cl-ext-path"):
            kept.append(word)
        else:
            left.append(word)
    return shlex.join(kept), left


class Loader:
    """The OpenCL functions of one loader, and its devices as (platform name, device name, driver, platform, device)."""

    def __init__(self, path: str) -> None:
        self.cl = ctypes.CDLL(path)
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateProgramWithBinary",
                     "clCreateProgramWithIL", "clCreateKernel", "clCreateBuffer", "clCreateSubBuffer", "clSVMAlloc"):  # fmt: skip
            getattr(self.cl, name).restype = c_void_p
        self.devices = [
            (
                self._text("Platform", one, PLATFORM_NAME),
                self._text("Device", device, DEVICE_NAME),
                self._text("Device", device, DRIVER_VERSION),
                one,
                device,
            )
            for one in self._list(self.cl.clGetPlatformIDs)
            for device in self._list(self.cl.clGetDeviceIDs, c_void_p(one), c_uint64(ALL_DEVICES))
        ]

    def _list(self, ask: Any, *first: Any) -> list[int]:
        room, count = (c_void_p * MOST)(), c_uint()
        status = ask(*first, MOST, room, byref(count))
        return [] if status else [one or 0 for one in room[: min(MOST, count.value)]]

    def _text(self, kind: str, handle: int, what: int) -> str:
        room = ctypes.create_string_buffer(1024)
        getattr(self.cl, f"clGet{kind}Info")(c_void_p(handle), what, c_size_t(len(room)), room, None)
        return room.value.decode(errors="replace").strip()


def loaders() -> Iterator[Loader]:
    """The system's loader and the one in the pyopencl wheel, each when it is asked for: two in one process share no state, and
    the recorder sees the first only. So the one that can find the driver begins: a library as OCL_ICD_VENDORS is for ocl-icd."""
    bundled, given = bundled_loader(), os.environ.get("OCL_ICD_VENDORS", "")
    paths = ["libOpenCL.so.1", *([str(bundled.library)] if bundled else [])]
    registered = any(not problem for _, problem in drivers(os.environ))
    for path in paths if registered and ".so" not in given else reversed(paths):
        if bundled and path == str(bundled.library):
            os.environ.update({k: v for k, v in bundled.environment.items() if not (given and k == "OCL_ICD_VENDORS")})
        with suppress(OSError):
            yield Loader(path)


Device = tuple[str, str, str, int, int]  # platform name, device name, driver, platform, device


def choose(found: Iterable[Loader], capsule: Capsule, wanted: str) -> tuple[Loader, Device]:
    """The device that was asked for, the one of the capture, or the first."""
    every: list[tuple[Loader, Device]] = []
    for loader in found:
        every += [(loader, device) for device in loader.devices]
        if not wanted and (same := _same(every, capsule)):
            return same
    if not every:
        raise Refused('no OpenCL device is here: pip install "pyopencl[pocl]" brings one')
    if wanted.isdigit() and int(wanted) < len(every):
        return every[int(wanted)]
    if wanted:
        looked_for = ALIASES.get(wanted.lower(), wanted.lower())
        named = [one for one in every if looked_for in f"{one[1][0]} {one[1][1]}".lower()]
        if not named:
            names = "; ".join(f"{at}: {one[1][1]} ({one[1][0]})" for at, one in enumerate(every))
            raise Refused(f"no device is called {wanted!r} here: choose from {names}")
        return named[0]
    return every[0]


def _same(every: list[tuple[Loader, Device]], capsule: Capsule) -> tuple[Loader, Device] | None:
    known = capsule.device
    same = [one for one in every if (one[1][0], one[1][1]) == (known.platform, known.name)]
    return next((one for one in same if one[1][2] == known.driver), same[0] if same else None)


class Player:
    """One capsule on one device."""

    def __init__(self, capsule: Capsule, folder: Path, wanted: str, trust: bool) -> None:
        self.capsule, self.folder, self.trust = capsule, folder, trust
        self.result = played.Result()
        self.stage("starting")
        loader, (platform, name, driver, _, self.device) = choose(loaders(), capsule, wanted)
        self.cl = loader.cl
        self.result.device = f"{name} ({platform}, {driver})"
        status = c_int()
        device = c_void_p(self.device)
        self.context = c_void_p(self.cl.clCreateContext(None, 1, byref(device), None, None, byref(status)))
        self.check(status.value, "clCreateContext")
        self.queue = c_void_p(self.cl.clCreateCommandQueue(self.context, device, c_uint64(PROFILING), byref(status)))
        self.check(status.value, "clCreateCommandQueue")
        self.buffers: dict[int, c_void_p] = {}
        self.blocks: list[tuple[int, int, int]] = []  # SVM: old address, size, new address
        self.svm: dict[int, int] = {}

    def stage(self, name: str) -> None:
        self.result.stage = name
        self.result.write(self.folder)

    def check(self, status: int, call: str) -> None:
        if status:
            raise Refused(f"{call} returned {status} on {self.result.device}")

    # -- the program --

    def build(self, source: Path | None = None, extra: str = "") -> c_void_p:
        """The kernel."""
        self.stage("building")
        options, left = safe_options(f"{self.capsule.options} {extra}")
        if left:
            self.result.notes.append(f"build options that are not passed on: {' '.join(left)}")
        program, kind = self._program(source)
        self.result.code = kind
        device = c_void_p(self.device)
        status = self.cl.clBuildProgram(program, 1, byref(device), options.encode(), None, None)
        if status:
            size = c_size_t()
            self.cl.clGetProgramBuildInfo(program, device, BUILD_LOG, c_size_t(0), None, byref(size))
            room = ctypes.create_string_buffer(min(size.value, 1 << 20) + 1)
            self.cl.clGetProgramBuildInfo(program, device, BUILD_LOG, c_size_t(len(room)), room, None)
            self.result.build_log = room.value.decode(errors="replace")[:4000]
            first = next(
                (line.strip() for line in self.result.build_log.splitlines() if "error" in line), f"status {status}"
            )
            raise Refused(f"the {kind} does not build on {self.result.device}: {first[:200]}")
        made = c_int()
        kernel = c_void_p(self.cl.clCreateKernel(program, self.capsule.kernel.encode(), byref(made)))
        self.check(made.value, f"clCreateKernel({self.capsule.kernel})")
        return kernel

    def _program(self, source: Path | None) -> tuple[c_void_p, str]:
        status = c_int()
        code = self.capsule.code("source", "il", "binary")
        if source is not None or (code and code.kind == "source"):
            text = source.read_bytes() if source is not None else code.data if code else b""
            string, length = c_char_p(text), c_size_t(len(text))
            made = self.cl.clCreateProgramWithSource(self.context, 1, byref(string), byref(length), byref(status))
            self.check(status.value, "clCreateProgramWithSource")
            return c_void_p(made), "source"
        if code is None:
            raise Refused("the capsule holds no OpenCL code")
        if code.kind == "il":
            made = self.cl.clCreateProgramWithIL(self.context, code.data, c_size_t(len(code.data)), byref(status))
            self.check(status.value, "clCreateProgramWithIL")
            return c_void_p(made), "IL"
        if not self.trust:
            raise Refused(
                "the capsule holds only a device binary, which can run anything on a processor device: add --trust if you know where"
                " it comes from"
            )
        data, length, device = (
            (ctypes.c_ubyte * len(code.data)).from_buffer_copy(code.data),
            c_size_t(len(code.data)),
            c_void_p(self.device),
        )
        place = ctypes.cast(data, c_void_p)
        taken = c_int()
        made = self.cl.clCreateProgramWithBinary(
            self.context, 1, byref(device), byref(length), byref(place), byref(taken), byref(status)
        )
        self.check(status.value or taken.value, "clCreateProgramWithBinary")
        return c_void_p(made), "binary"

    # -- memory --

    def prepare(self, kernel: c_void_p) -> None:
        """Memory as it was before the launch, and the arguments."""
        for one in self.capsule.buffers:
            if one.svm and one.number not in self.svm:
                self._place_svm(one)
        for one in self.capsule.buffers:
            if one.svm:
                self._write_svm(one)
            else:
                self.buffers[one.number] = self._part(one) if one.parent is not None else self._buffer(one)
        for argument in self.capsule.arguments:
            self._set(kernel, argument)
        if self.svm:
            places = (c_void_p * len(self.svm))(*self.svm.values())
            self.cl.clSetKernelExecInfo(kernel, SVM_POINTERS, c_size_t(ctypes.sizeof(places)), places)

    def _before(self, one: Buffer) -> Bytes:
        content = one.before if one.before is not None else np.zeros(one.size, dtype=np.uint8)
        return np.ascontiguousarray(moved(content, self.blocks))

    def _buffer(self, one: Buffer) -> c_void_p:
        status = c_int()
        data = self._before(one)
        flags = (one.flags & ACCESS_FLAGS or READ_WRITE) | COPY_HOST_PTR
        place = data.ctypes.data_as(c_void_p)
        made = self.cl.clCreateBuffer(self.context, c_uint64(flags), c_size_t(one.size), place, byref(status))
        self.check(status.value, f"clCreateBuffer of {one.size:,} bytes")
        return c_void_p(made)

    def _part(self, one: Buffer) -> c_void_p:
        status = c_int()
        region = (c_size_t * 2)(one.offset, one.size)
        flags = c_uint64(one.flags & ACCESS_FLAGS)
        made = self.cl.clCreateSubBuffer(self.buffers[one.parent or 0], flags, REGION, byref(region), byref(status))
        self.check(status.value, f"clCreateSubBuffer at {one.offset:,}")
        return c_void_p(made)

    def _place_svm(self, one: Buffer) -> None:
        """At its old address where the device takes any memory of the host; else anywhere."""
        able = c_uint64()
        self.cl.clGetDeviceInfo(c_void_p(self.device), DEVICE_SVM, c_size_t(8), byref(able), None)
        if not able.value:
            raise Refused(f"{self.result.device} has no shared virtual memory, which the launch uses")
        place = _mapped_at(one.address, one.size) if able.value & FINE_SYSTEM else 0
        if not place:
            place = self.cl.clSVMAlloc(self.context, c_uint64(READ_WRITE), c_size_t(one.size), 0) or 0
        if not place:
            raise Refused(f"{self.result.device} gives no {one.size:,} bytes of shared virtual memory")
        self.svm[one.number] = place
        self.blocks.append((one.address, one.size, place))

    def _write_svm(self, one: Buffer) -> None:
        data = self._before(one)
        status = self.cl.clEnqueueSVMMemcpy(
            self.queue, 1, c_void_p(self.svm[one.number]), data.ctypes.data_as(c_void_p), c_size_t(one.size), 0, None, None
        )  # fmt: skip
        self.check(status, "clEnqueueSVMMemcpy")

    def _set(self, kernel: c_void_p, one: Argument) -> None:
        index = c_uint(one.index)
        if one.kind == "unset":
            return
        if one.kind == "svm":
            place = self.svm[one.buffer or 0] + one.offset
            status = self.cl.clSetKernelArgSVMPointer(kernel, index, c_void_p(place))
        elif one.kind == "buffer":
            status = self.cl.clSetKernelArg(kernel, index, c_size_t(8), byref(self.buffers[one.buffer or 0]))
        elif one.kind == "local":
            status = self.cl.clSetKernelArg(kernel, index, c_size_t(one.size), None)
        elif one.kind == "null":
            status = self.cl.clSetKernelArg(kernel, index, c_size_t(8), byref(c_void_p(0)))
        else:
            value = moved(np.frombuffer(one.value, dtype=np.uint8), self.blocks).tobytes()
            status = self.cl.clSetKernelArg(kernel, index, c_size_t(len(value)), value)
        self.check(status, f"clSetKernelArg of {one.title}")

    # -- the launch --

    def launch(self, kernel: c_void_p) -> int:
        """Nanoseconds; the launch's status is kept."""
        self.stage("launching")
        shape = self.capsule.geometry
        dims, event = len(shape.global_), c_void_p()

        def sizes(values: tuple[int, ...]) -> Any:
            return (c_size_t * dims)(*values) if values else None

        status = self.cl.clEnqueueNDRangeKernel(
            self.queue, kernel, dims, sizes(shape.offset), sizes(shape.global_), sizes(shape.local), 0, None, byref(event)
        )  # fmt: skip
        if status:
            self.result.status = status
            return 0
        status = self.cl.clFinish(self.queue)
        state = c_int()
        self.cl.clGetEventInfo(event, EVENT_STATUS, c_size_t(4), byref(state), None)
        self.result.status = status or min(0, state.value)
        begin, end = c_uint64(), c_uint64()
        self.cl.clGetEventProfilingInfo(event, STARTED, c_size_t(8), byref(begin), None)
        self.cl.clGetEventProfilingInfo(event, ENDED, c_size_t(8), byref(end), None)
        self.cl.clReleaseEvent(event)
        return max(0, end.value - begin.value)

    def read(self) -> dict[int, Bytes]:
        self.stage("reading")
        back = [(new, size, old) for old, size, new in self.blocks]
        found = {}
        for one in self.capsule.buffers:
            if one.parent is not None:
                continue
            room = np.empty(one.size, dtype=np.uint8)
            place, size = room.ctypes.data_as(c_void_p), c_size_t(one.size)
            if one.svm:
                status = self.cl.clEnqueueSVMMemcpy(
                    self.queue, 1, place, c_void_p(self.svm[one.number]), size, 0, None, None
                )
            else:
                status = self.cl.clEnqueueReadBuffer(
                    self.queue, self.buffers[one.number], 1, c_size_t(0), size, place, 0, None, None
                )
            self.check(status, "reading a buffer")
            found[one.number] = moved(room, back)
        return found

    def let_go(self) -> None:
        for one in reversed(self.capsule.buffers):
            if not one.svm:
                self.cl.clReleaseMemObject(self.buffers[one.number])

    def play(self, asked: Asked) -> None:
        kernel = self.build(asked.source, asked.options)
        for _ in range(asked.times):
            self.stage("preparing")
            self.prepare(kernel)
            self.result.times_ns.append(self.launch(kernel))
            if self.result.status:
                break
            self.result.outputs.append(played.keep(self.folder, self.read()))
            self.let_go()
        self.stage("done")


def _mapped_at(address: int, size: int) -> int:
    """Memory at this address; 0: it is taken."""
    if not address:
        return 0
    start, end = address // mmap.PAGESIZE * mmap.PAGESIZE, -(-(address + size) // mmap.PAGESIZE) * mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = c_void_p
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED_NOREPLACE
    got = libc.mmap(
        c_void_p(start), c_size_t(end - start), mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, ctypes.c_long(0)
    )
    return address if got == start else 0


def _player(asked: Asked) -> Player:
    return Player(file.read(asked.capsule), asked.folder, asked.device, asked.trust)


if __name__ == "__main__":
    sys.exit(playing.main(None, _player))
