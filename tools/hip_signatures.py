"""Compares schema/hip.toml with what releases of HIP declare: every function named, every parameter passed alike.

    python tools/hip_signatures.py [SOURCE...]        says what differs, and ends with status 1 if anything does
    python tools/hip_signatures.py --rows SOURCE      prints a [[call]] to start from for each function that is missing

A SOURCE is a wheel of hip-python or rocm-bindings-hip, its .pxd file, or a folder with hip/hip_runtime_api.h. Without any, those that are
found: wheels in $GPUDX_HIP_WHEELS, an installed hip-python, the headers in an installed Triton, and /usr/include.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).resolve().parents[1] / "schema/hip.toml"
HEADER = "hip/hip_runtime_api.h"
DECLARING = ("hip/chip.pxd", "rocm/bindings/cyhip.pxd")  # in wheels: hip-python up to HIP 7, rocm-bindings-hip since HIP 10
ENTRY = r"(?:hip[A-Z]|__hip[A-Z])\w*"  # libraries above HIP have names that go on in small letters
CYTHON = re.compile(rf"^cdef (.+?)\s*(\**)\s*({ENTRY})\((.*)\)(?: except.*| noexcept)? nogil\s*$", re.M)
C = re.compile(rf"\bhipError_t\s+({ENTRY})\s*\(([^;{{}}]*?)\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?;", re.S)
TABLE = re.compile(rf"\btypedef\s+[\w\s*]+?\(\*t_({ENTRY})\)\s*\(([^;{{}}]*?)\)\s*;", re.S)
# What is passed as 4 bytes, as 8, or is a structure; everything else without a star is an enumeration, which is an int.
EIGHT = {"size_t", "unsigned long", "unsigned long long", "long", "uint64_t", "double", "hipDeviceptr_t"}
SMALL = {"unsigned char": 1, "unsigned short": 2, "uint8_t": 1, "uint16_t": 2}
STRUCTURES = {
    "dim3",
    "hipExtent",
    "hipPitchedPtr",
    "hipPos",
    "hipMemLocation",
    "hipIpcMemHandle_t",
    "hipIpcEventHandle_t",
}
SPELLED = {"hipIpcMemHandle_st": "hipIpcMemHandle_t", "hipIpcEventHandle_st": "hipIpcEventHandle_t"}  # in hip-python


@dataclass(frozen=True)
class Declared:
    """The functions of one release: the types of each one's parameters."""

    source: str
    functions: Mapping[str, tuple[str, ...]]


# ---- reading ----


def parameter_types(text: str) -> tuple[str, ...]:
    """ "void * dst,unsigned long pitch" -> ("void *", "unsigned long")"""
    plain = re.sub(r"__dparm\([^()]*(?:\([^()]*\))?[^()]*\)|\b(?:const|struct|enum|union)\b|=[^,]*", " ", text)
    parts = [" ".join(p.split()) for p in plain.split(",")]
    return tuple(
        re.sub(r"\s*\b\w+$", "", p).strip() if " " in p or "*" in p else p for p in parts if p not in ("", "void")
    )


def from_cython(source: str, text: str) -> Declared:
    return Declared(source, {m[3]: parameter_types(m[4]) for m in CYTHON.finditer(text)})


def from_header(folder: Path) -> Declared:
    """Of a folder with headers, by the C compiler's preprocessor."""
    command = ["gcc", "-E", "-P", "-x", "c", "-D__HIP_PLATFORM_AMD__", f"-I{folder}", "-include", HEADER, "/dev/null"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    functions = {m[1]: parameter_types(m[2]) for m in C.finditer(text)}
    table = (
        folder / "hip/amd_detail/hip_api_trace.hpp"
    )  # since HIP 6: all that the library exports, also what no header has
    for match in TABLE.finditer(table.read_text() if table.exists() else ""):
        functions.setdefault(match[1], parameter_types(match[2]))
    return Declared(f"{folder} ({version_in(folder)})", functions)


def version_in(folder: Path) -> str:
    text = (folder / "hip/hip_version.h").read_text()
    numbers = [re.search(rf"HIP_VERSION_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR")]
    return "HIP " + ".".join(n[1] if n else "?" for n in numbers)


def read(source: Path) -> Declared:
    if source.suffix == ".whl":
        with zipfile.ZipFile(source) as wheel:
            declares = next((name for name in DECLARING if name in wheel.namelist()), None)
            if declares is None:
                sys.exit(f"{source} has none of {', '.join(DECLARING)}: give a wheel of hip-python 6.2 to 7.2, or of rocm-bindings-hip")
            return from_cython(source.name, wheel.read(declares).decode())
    if source.suffix == ".pxd":
        return from_cython(str(source), source.read_text())
    return from_header(source)


def found() -> Iterator[Path]:
    """The sources on this machine."""
    wheels = Path(os.environ.get("GPUDX_HIP_WHEELS", "/nowhere"))
    yield from sorted([*wheels.glob("hip_python-*.whl"), *wheels.glob("rocm_bindings_hip-*.whl")])
    places = [("hip", "chip.pxd"), ("triton", "backends/amd/include")]
    for package, rest in places:
        spec = importlib.util.find_spec(package)
        place = Path(spec.origin).parent / rest if spec and spec.origin else None
        if place and place.exists():
            yield place
    if Path("/usr/include", HEADER).exists():
        yield Path("/usr/include")


# ---- comparing ----


def passed_as(type_: str, handles: Mapping[str, Any]) -> str:
    """What a parameter of this type is to a caller: a pointer, a structure, or a number of so many bytes."""
    base = type_.replace("*", "").strip()
    base = SPELLED.get(base, base)
    if "*" in type_ or base.endswith("Callback_t") or base == "hipHostFn_t":
        return "8"
    if base in STRUCTURES:
        return base
    if base in EIGHT or (base in handles and base != "hipDevice_t"):
        return "8"
    return str(SMALL.get(base, 4))


def entries(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...] | None]:
    """Every name in the schema with the types of its parameters; None for those that are only listed."""
    rows: dict[str, tuple[str, ...] | None] = {name: None for names in schema["skip"].values() for name in names}
    for call in schema["call"]:
        types = parameter_types(re.sub(r"\b(out|omit|address) ", "", call["args"]))
        for name in (call["name"], *(call["name"] + n if n.startswith("_spt") else n for n in call.get("also", ()))):
            rows[name] = types
    return rows


def differences(schema: Mapping[str, Any], declared: Declared) -> list[str]:
    """One line for each function that is missing, or that takes its parameters in another way."""
    known, handles = entries(schema), {**schema["handles"], "hipSurfaceObject_t": ""}
    lines = []
    for name, types in sorted(declared.functions.items()):
        if name not in known:
            lines.append(f"{name}: not in schema/hip.toml")
        elif (ours := known[name]) is not None:
            have, want = ([passed_as(t, handles) for t in given] for given in (ours, types))
            if have != want:
                lines.append(f"{name}: schema/hip.toml has ({', '.join(ours)}), the release ({', '.join(types)})")
    return lines


def skeleton(name: str, types: Sequence[str]) -> str:
    args = ", ".join(f"{t.replace(' *', ' *')}{'' if t.endswith('*') else ' '}p{n}" for n, t in enumerate(types))
    return f'[[call]]\nname = "{name}"\nargs = "{args}"\ndoes = "?"\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--rows", action="store_true", help="print a [[call]] for each function that is missing")
    given = parser.parse_args()
    schema = tomllib.loads(SCHEMA.read_text())
    wrong = 0
    for source in given.sources or list(found()):
        declared = read(source)
        lines = differences(schema, declared)
        wrong += len(lines)
        if given.rows:
            missing = sorted(set(declared.functions) - set(entries(schema)))
            print("\n".join(skeleton(name, declared.functions[name]) for name in missing))
        else:
            print(
                "\n".join([f"{declared.source}: {len(declared.functions)} functions, {len(lines)} differences", *lines])
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
