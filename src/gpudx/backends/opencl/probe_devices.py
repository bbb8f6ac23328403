"""Which OpenCL devices are here? Run as a program of its own by `gpudx doctor`: a driver may crash.

Asks the system's loader and the one in the pyopencl wheel directly, so that neither pyopencl nor headers are needed.
"""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
import sys

from gpudx.backends.opencl import icds

PLATFORM_NAME, DEVICE_TYPE, DEVICE_NAME, DEVICE_VERSION = 0x0902, 0x1000, 0x102B, 0x102F  # CL/cl.h
DEFAULT, CPU = 1, 2  # bits of a device type
ALL_DEVICES = 0xFFFFFFFF
MOST = 64

Handles = list[int]


def loaders() -> list[str]:
    """The loaders to ask; the bundled one needs PYOPENCL_HOME to find its driver."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return ["libOpenCL.so.1"]
    home = os.path.dirname(spec.origin)
    os.environ["PYOPENCL_HOME"] = home
    if not any(not problem for _, problem in icds.drivers(os.environ)):
        os.environ.update(next(iter(icds.of_packages()), {}))
    return ["libOpenCL.so.1", *sorted(glob.glob(f"{home}/.libs/libOpenCL*.so*"))]


def devices(path: str) -> list[str]:
    """One line for each device behind a loader; none when there is no such loader."""
    try:
        cl = ctypes.CDLL(path)
    except OSError:
        return []
    return [
        f"{_text(cl.clGetPlatformInfo, platform, PLATFORM_NAME)}: {_text(cl.clGetDeviceInfo, device, DEVICE_NAME)}"
        f" ({_text(cl.clGetDeviceInfo, device, DEVICE_VERSION)}) through {path}; --fence: {_fence(cl, device)}"
        for platform in _platforms(cl)
        for device in _devices(cl, platform)
    ]


def _platforms(cl: ctypes.CDLL) -> Handles:
    room, count = (ctypes.c_void_p * MOST)(), ctypes.c_uint()
    status = cl.clGetPlatformIDs(MOST, room, ctypes.byref(count))
    return [] if status else [handle or 0 for handle in room[: count.value]]


def _devices(cl: ctypes.CDLL, platform: int) -> Handles:
    room, count = (ctypes.c_void_p * MOST)(), ctypes.c_uint()
    handle, kind = ctypes.c_void_p(platform), ctypes.c_uint64(ALL_DEVICES)
    status = cl.clGetDeviceIDs(handle, kind, MOST, room, ctypes.byref(count))
    return [] if status else [one or 0 for one in room[: count.value]]


def _fence(cl: ctypes.CDLL, device: int) -> str:
    """How buffers of a device are fenced; native/opencl/fence.c tries a CPU device before it relies on it."""
    kind = ctypes.c_uint64()
    cl.clGetDeviceInfo(ctypes.c_void_p(device), DEVICE_TYPE, ctypes.c_size_t(8), ctypes.byref(kind), None)
    return "pages" if kind.value & ~DEFAULT == CPU else "red zones"


def _text(ask: ctypes._NamedFuncPointer, handle: int, what: int) -> str:
    room = ctypes.create_string_buffer(1024)
    ask(ctypes.c_void_p(handle), what, ctypes.c_size_t(len(room)), room, None)
    return room.value.decode(errors="replace").strip()


def main() -> int:
    """Print one line for each device; 3: none."""
    found = [line for path in loaders() for line in devices(path)]
    useless = icds.runs_without_kernels() and not icds.wheel_compiles()
    none = "the driver in the pyopencl wheel cannot compile kernels for this processor" if useless else "no loader has a device"
    print("\n".join(found) if found else none)
    return 0 if found else 3


if __name__ == "__main__":
    sys.exit(main())
