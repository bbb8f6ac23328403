"""Is there a HIP runtime, and which devices? Run as a program of its own by `gpudx doctor`: a driver may crash."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

COVERED = ((5, 2), (10, 0))  # schema/hip.toml
NAMES = (*(f"libamdhip64.so.{major}" for major in range(COVERED[1][0], COVERED[0][0] - 1, -1)), "libamdhip64.so")
PLACES = ("/opt/rocm*/lib",)
NUMBERED = re.compile(r"libamdhip64\.so\.(\d+)")
FIRST_VERSION, MAPPINGS_SUPPORTED = 60000000, 89  # native/hip/fence_map.c
CHECKED = "gpudx's hooks are checked against ROCm's headers and a simulated runtime, not yet on AMD hardware"
EXPECT = {
    5: "--fence uses red zones, which show writes outside an allocation but no reads; memory in pools is not fenced",
    6: "--fence stops accesses at pages where the device supports virtual memory management",
    7: "--fence stops accesses at pages; launches by configuration, libraries and memory nodes of graphs are recorded",
}
SHOWN = 6


def main() -> int:
    """Print the runtime, what to expect of it and its devices; 3: none."""
    for name in found():
        try:
            hip = ctypes.CDLL(name)
        except OSError:
            continue
        version, count = ctypes.c_int(), ctypes.c_int()
        hip.hipRuntimeGetVersion(ctypes.byref(version))
        status = hip.hipGetDeviceCount(ctypes.byref(count))
        major, minor = version.value // 10000000, version.value // 100000 % 100
        print(f"{name} {major}.{minor}, {_devices(hip, status, count.value)}")
        for line in expectations(major, minor, unknown(name)):
            print(line)
        print(CHECKED)
        return 0
    print("libamdhip64 is not installed")
    return 3


def found() -> Iterator[str]:
    """Names as the loader finds them, then files in ROCm's own folders, the newest first."""
    yield from NAMES
    own = os.environ.get("ROCM_PATH")
    folders = [*([Path(own, "lib")] if own else []), *(one for pattern in PLACES for one in Path("/").glob(pattern.lstrip("/")))]
    for folder in folders:
        numbered = [(int(match[1]), path) for path in folder.glob("libamdhip64.so.*") if (match := NUMBERED.fullmatch(path.name))]
        yield from (str(path) for _, path in sorted(numbered, reverse=True))


def expectations(major: int, minor: int, missing: list[str]) -> Iterator[str]:
    """What works on this version, in one line each."""
    if (major, minor) > COVERED[1]:
        yield f"HIP {major}.{minor} is newer than HIP {'.'.join(map(str, COVERED[1]))}, the last that gpudx knows all of"
    if expected := EXPECT.get(max((known for known in EXPECT if known <= major), default=0)):
        yield f"HIP {major}: {expected}"
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        yield f"calls of {', '.join(missing[:SHOWN])}{more} are not recorded: this gpudx does not know them"


def unknown(name: str) -> list[str]:
    """Functions of HIP that the library exports and the recorder does not know."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    from gpudx import native

    schema, path = native.data("schema.json"), _path(name)
    if schema is None or path is None:
        return []
    known = {call["name"] for call in json.loads(schema.read_text())["calls"]}
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    exported = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}
    names = (n for n in exported if re.fullmatch(r"hip[A-Z]\w*", n) and not n.endswith("_spt"))
    return sorted(n for n in names if n not in known)


def _path(name: str) -> Path | None:
    """The file of a library that is loaded."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if Path(name).name in line and "/" in line:
            return Path(line[line.index("/") :].strip())
    return None


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
    unknown_ = hip.hipDeviceGetAttribute(ctypes.byref(able), MAPPINGS_SUPPORTED, index)
    return "pages" if version.value >= FIRST_VERSION and not unknown_ and able.value else "red zones"


if __name__ == "__main__":
    sys.exit(main())
