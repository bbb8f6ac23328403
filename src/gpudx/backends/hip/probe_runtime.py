"""Is there a HIP runtime, and which devices? Run as a program of its own by `gpudx doctor`: a driver may crash."""

from __future__ import annotations

import ctypes
import sys

NAMES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")
FIRST_VERSION, MAPPINGS_SUPPORTED = 60000000, 89  # native/hip/fence_map.c
CHECKED = "gpudx's hooks are checked against ROCm's headers and a simulated runtime, not yet on AMD hardware"


def main() -> int:
    """Print the runtime and its devices; 3: none."""
    for name in NAMES:
        try:
            hip = ctypes.CDLL(name)
        except OSError:
            continue
        version, count = ctypes.c_int(), ctypes.c_int()
        hip.hipRuntimeGetVersion(ctypes.byref(version))
        status = hip.hipGetDeviceCount(ctypes.byref(count))
        print(
            f"{name} {version.value // 10000000}.{version.value // 100000 % 100}, {_devices(hip, status, count.value)}"
        )
        print(CHECKED)
        return 0
    print("libamdhip64 is not installed")
    return 3


def _devices(hip: ctypes.CDLL, status: int, count: int) -> str:
    if status:
        return f"no device (error {status})"
    names = []
    for index in range(count):
        name = ctypes.create_string_buffer(256)
        hip.hipDeviceGetName(name, len(name), index)
        names.append(f"{name.value.decode(errors='replace')} (--fence: {_fence(hip, index)})")
    return ", ".join(names) or "no device"


def _fence(hip: ctypes.CDLL, index: int) -> str:
    """How memory of a device is fenced, as native/hip/fence_map.c decides it."""
    version, able = ctypes.c_int(), ctypes.c_int()
    hip.hipRuntimeGetVersion(ctypes.byref(version))
    unknown = hip.hipDeviceGetAttribute(ctypes.byref(able), MAPPINGS_SUPPORTED, index)
    return "pages" if version.value >= FIRST_VERSION and not unknown and able.value else "red zones"


if __name__ == "__main__":
    sys.exit(main())
