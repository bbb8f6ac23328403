"""Is there a CUDA driver, and which devices? Run as a program of its own by `gpudx doctor`: a driver may crash."""

from __future__ import annotations

import ctypes
import sys


def main() -> int:
    """Print the driver and its devices; 3: none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        print("libcuda.so.1 is not installed")
        return 3
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    status = cuda.cuInit(0)
    print(f"libcuda.so.1 for CUDA {version.value // 1000}.{version.value % 1000 // 10}, {_devices(cuda, status)}")
    return 0


def _devices(cuda: ctypes.CDLL, status: int) -> str:
    if status:
        return f"but it cannot start (error {status})"
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    names = []
    for index in range(count.value):
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGetName(name, len(name), index)
        names.append(name.value.decode(errors="replace"))
    return ", ".join(names) or "no device"


if __name__ == "__main__":
    sys.exit(main())
