"""schema/hip.toml against <hip/hip_runtime_api.h> and the symbols of libamdhip64, where they are installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hip_kit import LIBRARY, Kit, simulated
from support.builds import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import hip_signatures

# Recorded by address only, so the schema does not say what they point to, or spelled otherwise in one of the versions.
LOOSE = {
    "hipGraphKernelNodeSetAttribute",
    "hipMemcpyHtoD",
    "hipMemcpyHtoDAsync",
    "hipDrvLaunchKernelEx",
    "hipGraphExecNodeSetParams",
    "hipGraphInstantiateWithParams",
    "hipLaunchKernelExC",
    "hipLibraryLoadData",
    "hipLibraryLoadFromFile",
}
# hip_ext.h uses a template of another header, which only hipcc can read.
INCLUDES = """#include <hip/hip_runtime_api.h>
template <int, class A, class B> void pArgs(A &, B &);
#if __has_include(<hip/hip_ext.h>)
#include <hip/hip_ext.h>
#endif
"""
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
    "hipMemLocation": {"type": "type", "id": "id"},
    "hipMemcpy3DPeerParms": {
        "src_array": "srcArray",
        "src_pos": "srcPos",
        "src": "srcPtr",
        "src_device": "srcDevice",
        "dst_array": "dstArray",
        "dst_pos": "dstPos",
        "dst": "dstPtr",
        "dst_device": "dstDevice",
        "extent": "extent",
    },
    "hip_Memcpy2D": {
        "src.x": "srcXInBytes",
        "src.y": "srcY",
        "src.type": "srcMemoryType",
        "src.host": "srcHost",
        "src.device": "srcDevice",
        "src.array": "srcArray",
        "src.pitch": "srcPitch",
        "dst.x": "dstXInBytes",
        "dst.pitch": "dstPitch",
        "width": "WidthInBytes",
        "height": "Height",
    },
}
# What native/hip reads of structures that it does not declare whole, or that changed: the offset in each version.
READ_AT = {
    5: {
        "HIP_MEMCPY3D": {
            "srcMemoryType": 16,
            "srcHost": 24,
            "srcArray": 40,
            "srcPitch": 48,
            "dstXInBytes": 56,
            "WidthInBytes": 112,
        },
        "hipExternalMemoryBufferDesc": {"offset": 0, "size": 8},
    },
    7: {
        "HIP_MEMCPY3D": {
            "srcMemoryType": 32,
            "srcHost": 40,
            "srcDevice": 48,
            "srcArray": 56,
            "srcPitch": 64,
            "srcHeight": 72,
            "dstXInBytes": 80,
            "dstHeight": 152,
            "WidthInBytes": 160,
            "Depth": 176,
        },
        "hipExternalMemoryBufferDesc": {"offset": 0, "size": 8},
        "hipLaunchConfig_t": {"gridDim": 0, "blockDim": 12, "dynamicSmemBytes": 24, "stream": 32, "numAttrs": 48},
        "HIP_LAUNCH_CONFIG": {"gridDimX": 0, "blockDimX": 12, "sharedMemBytes": 24, "hStream": 32, "numAttrs": 48},
        "hipMemAllocNodeParams": {"bytesize": 104, "dptr": 112},
        "hipGraphNodeParams": {"type": 0, "kernel": 16},
    },
}
# Sizes of structures that are read in part, by version.
SIZES = {
    5: {"hipDeviceProp_t": 792},
    7: {"hipDeviceProp_t": 1472, "hipLaunchConfig_t": 56, "HIP_LAUNCH_CONFIG": 56, "hipLaunchAttribute": 72},
}
TYPES = {5: {"host": 0, "device": 1, "array": 2, "unified": 3}, 7: {"host": 1, "device": 2, "array": 10, "unified": 11}}


def headers() -> dict[str, Path]:
    """The folders with HIP headers on this machine, by the major version."""
    folders = [f for f in hip_signatures.found() if f.is_dir()]
    return {hip_signatures.version_in(f).split()[1].split(".")[0]: f for f in folders}


@pytest.fixture(scope="module", params=["5", "7"])
def header(request: pytest.FixtureRequest) -> tuple[int, Path]:
    found = headers()
    if request.param not in found:
        pytest.skip(f"no headers of HIP {request.param} (apt install libamdhip64-dev has 5.2, pip install triton 7.1)")
    return int(request.param), found[request.param]


def declared_names(folder: Path) -> set[str]:
    """Every word of the headers: what is not among them cannot be compared."""
    command = ["g++", "-E", "-P", "-x", "c++", "-std=c++17", AMD, f"-I{folder}", "-"]
    text = subprocess.run(command, input=INCLUDES, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\w+", text))


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


@pytest.mark.parametrize("source", sorted(hip_signatures.found()), ids=lambda p: p.name)
def test_every_declared_entry_of_every_release_is_accounted_for(schema: dict[str, Any], source: Path) -> None:
    declared = hip_signatures.read(source)
    assert len(declared.functions) > 370
    assert hip_signatures.differences(schema, declared) == []


def test_a_new_function_and_a_changed_one_are_each_a_line(schema: dict[str, Any]) -> None:
    text = (
        "cdef hipError_t hipMallocTomorrow(void ** ptr,unsigned long size) except? hipErrorInitializationError nogil\n"
        "cdef hipError_t hipMalloc(void ** ptr,unsigned int size) except? hipErrorInitializationError nogil\n"
        "cdef hipError_t hipFree(void * ptr) except? hipErrorInitializationError nogil\n"
    )
    lines = hip_signatures.differences(schema, hip_signatures.from_cython("tomorrow", text))
    assert lines == [
        "hipMalloc: schema/hip.toml has (void **, size_t), the release (void **, unsigned int)",
        "hipMallocTomorrow: not in schema/hip.toml",
    ]


def test_every_hooked_name_has_a_version_of_hip(schema: dict[str, Any], exported: dict[str, str]) -> None:
    hooked = {name for call in schema["call"] for name in names(call)} & set(exported)
    assert all(re.fullmatch(r"hip_\d\.\d", exported[name]) for name in hooked)


def test_prototypes_and_numbers_are_those_of_the_header(
    schema: dict[str, Any], header: tuple[int, Path], tmp_path: Path
) -> None:
    version, folder = header
    known = declared_names(folder)
    lines = [INCLUDES]
    for call in schema["call"]:
        params = re.sub(r"\b(out|omit|address) ", "", call["args"]) or "void"
        own = [n for n in names(call) if n in known and n not in LOOSE and not n.startswith("_Z")]
        lines += [
            f"hipError_t (*check_{n})({params}) = &{n};" for n in own
        ]  # some have overloads: this picks the plain one
    numbers = {n: v for n, v in (schema["errors"] | schema["constants"]).items() if n != "hipStreamPerThread"}
    lines += [f'static_assert((long){n} == {v}, "{n}");' for n, v in numbers.items() if n in known]
    sized = sizes(schema, version)
    # Since HIP 6 a macro calls the structure by its own version, hipDeviceProp_tR0600, which is checked.
    assert version < 7 or set(sized) - known == {"hipDeviceProp_t"}
    lines += [f'static_assert(sizeof({n}) == {size}, "{n}");' for n, size in sized.items() if n in known]
    kinds = {"host": "Host", "device": "Device", "array": "Array", "unified": "Unified"}
    lines += [f'static_assert((long)hipMemoryType{kinds[n]} == {v}, "{n}");' for n, v in TYPES[version].items()]
    lines += [f'static_assert(sizeof({n}) == sizeof(int), "{n}");' for n in schema["types"]["enums"] if n in known]
    assert len(lines) > 350
    source = tmp_path / "check.cpp"
    source.write_text("\n".join(lines) + "\n")
    command = ["g++", "-std=c++17", AMD, f"-I{folder}", "-w", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def sizes(schema: dict[str, Any], version: int) -> dict[str, int]:
    """Of every structure that the schema names, in this version of HIP."""
    later = schema["opaque_since_6"] if version >= 6 else {}
    return {**schema["opaque"], **later, **SIZES[version]}


def test_structures_are_laid_out_alike(
    kit: Kit, schema: dict[str, Any], header: tuple[int, Path], tmp_path: Path
) -> None:
    version, folder = header
    flags = [AMD, f"-I{folder}"]
    assert set(MEMBERS) == set(schema["types"]["structures"])
    known = declared_names(folder)
    members = {n: m for n, m in MEMBERS.items() if n in known}
    assert len(members) >= 8
    pairs = [(n, ours, theirs) for n, rows in members.items() for ours, theirs in rows.items()]
    own = [*(f"sizeof({n})" for n in members), *(f"offsetof({n}, {m})" for n, m, _ in pairs)]
    vendor = [*(f"sizeof({n})" for n in members), *(f"offsetof({n}, {m})" for n, _, m in pairs)]
    ours = numbers(tmp_path, "own", [f"-I{kit.generated}"], '"hip.h"', own)
    assert ours == numbers(tmp_path, "vendor", flags, "<hip/hip_runtime_api.h>", vendor)
    read = [(n, m, at) for n, rows in READ_AT[version].items() for m, at in rows.items()]
    asked = [f"offsetof({n}, {m})" for n, m, _ in read]
    assert [at for *_, at in read] == numbers(tmp_path, "read", flags, "<hip/hip_runtime_api.h>", asked)
    wanted = ["srcPos.x", "srcPtr.ysize", "dstPos.x", "dstPtr.ysize"]
    asked = [f"offsetof(hipMemcpy3DParms, {member})" for member in wanted]
    assert recorded_places(schema, "hipMemcpy3D") == numbers(
        tmp_path, "places", flags, "<hip/hip_runtime_api.h>", asked
    )
    if version >= 6:  # the form in which it is recorded whatever runs
        asked = [f"offsetof(HIP_MEMCPY3D, {m})" for m in ("srcXInBytes", "srcHeight", "dstXInBytes", "dstHeight")]
        asked += [f"offsetof(hipMemcpy3DPeerParms, {member})" for member in wanted]
        places = recorded_places(schema, "hipDrvMemcpy3D") + recorded_places(schema, "hipMemcpy3DPeer")
        assert places == numbers(tmp_path, "more", flags, "<hip/hip_runtime_api.h>", asked)


def recorded_places(schema: dict[str, Any], name: str) -> list[int]:
    """Where readers of a trace look into the structure that a copy is recorded with."""
    box = next(c for c in schema["call"] if c["name"] == name)
    return [int(n) for text in (box["reads"], box["writes"]) for n in re.findall(r"copy@(\d+)", text)]


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
    own = {name: version for name, version in own.items() if version.startswith(("hip_4", "hip_5"))}
    assert len(own) > 80 and own.items() <= exported.items()
    assert (simulated() / "versions.map").is_file()
