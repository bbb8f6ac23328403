"""schema/hip.toml against <hip/hip_runtime_api.h> and the symbols of libamdhip64, where they are installed."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hip_kit import HEADER, LIBRARY, Kit, simulated
from support.builds import ROOT

LATER = {  # not in the header of 5.2.3
    "hipDrvLaunchKernelEx",
    "hipExtGetLastError",
    "hipGetProcAddress",
    "hipGraphExecNodeSetParams",
    "hipGraphInstantiateWithParams",
    "hipGraphNodeSetEnabled",
    "hipLaunchKernelExC",
}
# hip_ext.h uses a template of another header, which only hipcc can read.
INCLUDES = "#include <hip/hip_runtime_api.h>\ntemplate <int, class A, class B> void pArgs(A &, B &);\n#include <hip/hip_ext.h>\n"
AMD = "-D__HIP_PLATFORM_AMD__"
# Our members against the header's.
MEMBERS: dict[str, dict[str, str]] = {
    "dim3": {"x": "x", "z": "z"},
    "hipExtent": {"width": "width", "depth": "depth"},
    "hipPitchedPtr": {"ptr": "ptr", "pitch": "pitch", "xsize": "xsize", "ysize": "ysize"},
    "hipPos": {"x": "x", "z": "z"},
    "hipMemcpy3DParms": {
        "src_array": "srcArray",
        "src_pos": "srcPos",
        "src": "srcPtr",
        "dst_array": "dstArray",
        "dst_pos": "dstPos",
        "dst": "dstPtr",
        "extent": "extent",
        "kinds": "kind",
    },
    "hipKernelNodeParams": {"block": "blockDim", "func": "func", "grid": "gridDim", "params": "kernelParams"},
    "hipMemsetParams": {"dst": "dst", "element": "elementSize", "pitch": "pitch", "width": "width"},
}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return tomllib.loads((ROOT / "schema/hip.toml").read_text())


@pytest.fixture(scope="module")
def exported() -> dict[str, str]:
    if not LIBRARY.exists():
        pytest.skip("libamdhip64 is not installed (apt install libamdhip64-5)")
    return symbols(LIBRARY)


def symbols(library: Path) -> dict[str, str]:
    """Exported functions and their versions."""
    command = ["nm", "-D", "--with-symbol-versions", str(library)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [line.split()[2].partition("@@") for line in lines if line.split()[1:2] == ["T"]]
    return {name: version for name, _, version in found}


def names(call: dict[str, Any]) -> list[str]:
    return [call["name"], *(call["name"] + n if n == "_spt" else n for n in call.get("also", []))]


def test_every_exported_entry_is_recorded_or_skipped_with_a_reason(
    schema: dict[str, Any], exported: dict[str, str]
) -> None:
    recorded = {name for call in schema["call"] for name in names(call)}
    skipped = {name for group in schema["skip"].values() for name in group}
    assert not recorded & skipped
    assert set(exported) <= recorded | skipped, sorted(set(exported) - recorded - skipped)
    mangled = {"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"}  # C++ names there, plain ones in other versions
    unknown = {"hipLaunchHostFunc"}  # declared, but not exported by 5.2.3
    assert recorded - set(exported) <= LATER | mangled | unknown


def test_every_hooked_name_has_a_version_of_hip(schema: dict[str, Any], exported: dict[str, str]) -> None:
    hooked = {name for call in schema["call"] for name in names(call)} & set(exported)
    assert all(re.fullmatch(r"hip_\d\.\d", exported[name]) for name in hooked)


def test_prototypes_and_numbers_are_those_of_the_header(schema: dict[str, Any], tmp_path: Path) -> None:
    if not HEADER.exists():
        pytest.skip("the HIP headers are not installed (apt install libamdhip64-dev)")
    lines = [INCLUDES]
    for call in schema["call"]:
        params = re.sub(r"\b(out|omit|address) ", "", call["args"]) or "void"
        own = [n for n in names(call) if n not in LATER and not n.startswith("_Z")]
        lines += [
            f"hipError_t (*check_{n})({params}) = &{n};" for n in own
        ]  # some have overloads: this picks the plain one
    numbers = {n: v for n, v in (schema["errors"] | schema["constants"]).items() if n != "hipStreamPerThread"}
    lines += [f'static_assert((long){n} == {v}, "{n}");' for n, v in numbers.items()]
    lines += [f'static_assert(sizeof({n}) == {size}, "{n}");' for n, size in schema["opaque"].items()]
    enums = [n for n in schema["types"]["enums"] if n != "hipDriverProcAddressQueryResult"]
    lines += [f'static_assert(sizeof({n}) == sizeof(int), "{n}");' for n in enums]
    assert len(lines) > 350
    source = tmp_path / "check.cpp"
    source.write_text("\n".join(lines) + "\n")
    command = ["g++", "-std=c++17", AMD, "-w", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def test_structures_are_laid_out_alike(kit: Kit, schema: dict[str, Any], tmp_path: Path) -> None:
    assert set(MEMBERS) == set(schema["types"]["structures"])
    pairs = [(n, ours, theirs) for n, members in MEMBERS.items() for ours, theirs in members.items()]
    own = [*(f"sizeof({n})" for n in MEMBERS), *(f"offsetof({n}, {m})" for n, m, _ in pairs)]
    vendor = [*(f"sizeof({n})" for n in MEMBERS), *(f"offsetof({n}, {m})" for n, _, m in pairs)]
    ours = numbers(tmp_path, "own", [f"-I{kit.generated}"], '"hip.h"', own)
    assert ours == numbers(tmp_path, "vendor", [AMD], "<hip/hip_runtime_api.h>", vendor)
    box = next(c for c in schema["call"] if c["name"] == "hipMemcpy3D")
    places = [int(n) for text in (box["reads"], box["writes"]) for n in re.findall(r"copy@(\d+)", text)]
    wanted = ["srcPos.x", "srcPtr.ysize", "dstPos.x", "dstPtr.ysize"]
    asked = [f"offsetof(hipMemcpy3DParms, {member})" for member in wanted]
    assert places == numbers(tmp_path, "places", [AMD], "<hip/hip_runtime_api.h>", asked)


def numbers(folder: Path, name: str, flags: list[str], include: str, expressions: list[str]) -> list[int]:
    source = folder / f"{name}.cpp"
    prints = "\n".join(f'printf("%zu\\n", (size_t){e});' for e in expressions)
    source.write_text(f"#include <stddef.h>\n#include <stdio.h>\n#include {include}\nint main() {{ {prints} }}\n")
    subprocess.run(["g++", "-w", *flags, "-o", str(folder / name), str(source)], check=True)
    return [
        int(n) for n in subprocess.run([str(folder / name)], capture_output=True, text=True, check=True).stdout.split()
    ]


def test_the_simulator_has_the_real_librarys_names_and_versions(kit: Kit, exported: dict[str, str]) -> None:
    built = kit.hip_program("tour")
    own = symbols(Path(built.environment["LD_LIBRARY_PATH"].split(":")[0]) / "libamdhip64.so.5")
    own = {name: version for name, version in own.items() if version and name not in LATER}
    assert len(own) > 80 and own.items() <= exported.items()
    assert (simulated() / "versions.map").is_file()
