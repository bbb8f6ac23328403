"""schema/cuda.toml against the vendor's <cuda.h>, where that is installed: names, prototypes, layouts, numbers."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cuda_kit import ROOT, Kit, cc

PLACES = ("/usr/local/cuda/include", "/usr/local/cuda-13.0/include", "/usr/include")
BESIDE = ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h")
# The header declares every variant of every entry under this name.
ALL = "-D__CUDA_API_VERSION_INTERNAL"
# Our members against the header's, for the structures that the hooks look into.
KERNEL_NODE = {
    "func": "func",
    "grid_x": "gridDimX",
    "grid_z": "gridDimZ",
    "block_x": "blockDimX",
    "block_z": "blockDimZ",
    "shared_bytes": "sharedMemBytes",
    "params": "kernelParams",
    "extra": "extra",
}
SIDE2 = {
    "x": "XInBytes",
    "y": "Y",
    "type": "MemoryType",
    "host": "Host",
    "device": "Device",
    "array": "Array",
    "pitch": "Pitch",
}
SIDE3 = {**SIDE2, "z": "Z", "level": "LOD", "height": "Height"}
EXTENT = {"width": "WidthInBytes", "height": "Height"}


def sides(side: dict[str, str]) -> dict[str, str]:
    return {f"{end}.{ours}": f"{end}{theirs}" for end in ("src", "dst") for ours, theirs in side.items()}


MEMBERS: dict[str, dict[str, str]] = {
    "CUmemLocation": {"type": "type", "id": "id"},
    "CUmemAccessDesc": {"location": "location", "flags": "flags"},
    "CUmemAllocationProp": {
        "type": "type",
        "handle_types": "requestedHandleTypes",
        "location": "location",
        "rdma": "allocFlags.gpuDirectRDMACapable",
        "usage": "allocFlags.usage",
    },
    "CUmemPoolProps": {"type": "allocType", "handle_types": "handleTypes", "location": "location"},
    "CUDA_KERNEL_NODE_PARAMS_v1": KERNEL_NODE,
    "CUDA_KERNEL_NODE_PARAMS": {**KERNEL_NODE, "kern": "kern", "context": "ctx"},
    "CUlaunchAttribute": {"id": "id", "value": "value"},
    "CUlaunchConfig": {
        "grid_x": "gridDimX",
        "block_x": "blockDimX",
        "block_z": "blockDimZ",
        "shared_bytes": "sharedMemBytes",
        "queue": "hStream",
        "attributes": "attrs",
        "attribute_count": "numAttrs",
    },
    "CUDA_MEMCPY2D": {**sides(SIDE2), **EXTENT},
    "CUDA_MEMCPY3D": {**sides(SIDE3), **EXTENT, "depth": "Depth"},
    "CUDA_MEMCPY3D_PEER": {**sides(SIDE3), **EXTENT, "depth": "Depth", "src.context": "srcContext"},
    "CUDA_MEMSET_NODE_PARAMS": {
        "dst": "dst",
        "pitch": "pitch",
        "value": "value",
        "element": "elementSize",
        "width": "width",
        "height": "height",
    },
    "CUDA_MEM_ALLOC_NODE_PARAMS": {"access": "accessDescs", "size": "bytesize", "address": "dptr"},
    "CUDA_EXTERNAL_MEMORY_BUFFER_DESC": {"offset": "offset", "size": "size", "flags": "flags"},
    "CUgraphNodeParams": {
        "type": "type",
        "kernel": "kernel",
        "kernel.params": "kernel.kernelParams",
        "end": "reserved2",
    },
}


@pytest.fixture(scope="module")
def header() -> str:
    for place in PLACES:
        if (Path(place) / "cuda.h").is_file():
            return place
    pytest.skip("no <cuda.h> here")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return tomllib.loads((ROOT / "schema/cuda.toml").read_text())


def declared(header: str) -> set[str]:
    """Every entry that the header declares."""
    command = ["cc", "-E", "-P", ALL, "-I", header, "-include", "cuda.h", "-x", "c", "/dev/null"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"CUresult (cu\w+)\(", re.sub(r"\s+", " ", text)))


def declared_beside(path: Path) -> set[str]:
    """Entries of a header that includes others which may not be installed; Windows has one of its own."""
    text = path.read_text() if path.is_file() else ""
    return set(re.findall(r"CUDAAPI (cu\w+)\(", text)) - {"cuWGLGetDevice"}


def names(call: dict[str, Any]) -> list[str]:
    return [call["name"], *(call["name"] + n if n.startswith("_") else n for n in call.get("also", []))]


def version(header: str) -> int:
    found = re.search(r"define CUDA_VERSION (\d+)", (Path(header) / "cuda.h").read_text())
    return int(found[1]) if found else 0


def test_every_entry_is_recorded_or_skipped_with_a_reason(header: str, schema: dict[str, Any]) -> None:
    recorded = [name for call in schema["call"] for name in names(call)]
    skipped = [name for group in schema["skip"].values() for name in group]
    beside = {name for file in BESIDE for name in declared_beside(Path(header) / file)}
    assert len(recorded) == len(set(recorded)) and len(skipped) == len(set(skipped))
    assert not set(recorded) & set(skipped)
    missing = (declared(header) | beside) - set(recorded) - set(skipped)
    assert not missing if version(header) <= 13000 else True, sorted(missing)


def test_prototypes_are_those_of_the_header(header: str, schema: dict[str, Any], tmp_path: Path) -> None:
    known = declared(header)
    lines = ["#include <cuda.h>"]
    for call in [*schema["call"], *schema["ask"]]:
        params = re.sub(r"\b(out|omit) ", "", call["args"]) or "void"
        lines += [
            f'_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), CUresult (*)({params})), "{name}");'
            for name in names(call)
            if name in known
        ]
    assert len(lines) > 400
    compile_only(tmp_path, header, lines)


def test_numbers_are_those_of_the_header(header: str, schema: dict[str, Any], tmp_path: Path) -> None:
    own = {n: v for n, v in schema["constants"].items() if n != "CU_STREAM_PER_THREAD"}
    lines = ["#include <cuda.h>"]
    lines += [f'_Static_assert((long){n} == {v}, "{n}");' for n, v in (schema["errors"] | own).items()]
    lines += [f'_Static_assert(sizeof({n}) == {size}, "{n}");' for n, size in schema["opaque"].items()]
    lines += [f'_Static_assert(sizeof({n}) == sizeof({c}), "{n}");' for n, c in schema["scalars"].items()]
    lines += [f'_Static_assert(sizeof({n}) == sizeof(int), "{n}");' for n in schema["types"]["enums"]]
    compile_only(tmp_path, header, lines)


def test_structures_are_laid_out_alike(kit: Kit, header: str, schema: dict[str, Any], tmp_path: Path) -> None:
    assert set(MEMBERS) == set(schema["types"]["structures"])
    ours = [f"sizeof({n})" for n in MEMBERS]
    ours += [f"offsetof({n}, {m})" for n, members in MEMBERS.items() for m in members]
    theirs = [f"sizeof({n})" for n in MEMBERS]
    theirs += [f"offsetof({n}, {m})" for n, members in MEMBERS.items() for m in members.values()]
    own = numbers(tmp_path, "own", ["-I", str(kit.generated)], '"cu.h"', ours)
    vendor = numbers(tmp_path, "vendor", [ALL, "-I", header], "<cuda.h>", theirs)
    assert dict(zip(ours, own, strict=True)) == dict(zip(ours, vendor, strict=True))


def test_places_in_structures_are_those_of_the_header(header: str, schema: dict[str, Any], tmp_path: Path) -> None:
    """Boxes of copies name members of the recorded structure by their place."""
    boxes = {c["name"]: (c["reads"], c["writes"]) for c in schema["call"] if "box(" in c.get("reads", "")}
    asked, places = [], []
    for name, sides in boxes.items():
        structure = "CUDA_MEMCPY3D" if "3D" in name else "CUDA_MEMCPY2D"
        for end, text in zip(("src", "dst"), sides, strict=True):
            members = [f"{end}XInBytes", *([f"{end}Height"] if "3D" in name else [])]
            asked += [f"offsetof({structure}, {member})" for member in members]
            places += [int(place) for place in re.findall(r"copy@(\d+)", text)]
    assert len(boxes) == 7 and numbers(tmp_path, "places", [ALL, "-I", header], "<cuda.h>", asked) == places


def test_the_fake_driver_has_nothing_of_its_own(header: str) -> None:
    """It is compiled against our header, which the tests above compare with the vendor's."""
    text = "\n".join(path.read_text() for path in (ROOT / "tests/cuda/fake").glob("*.c"))
    made = set(re.findall(r"^API CUresult (cu\w+)\(", text, re.M))
    assert len(made) > 60 and made <= declared(header)


def compile_only(folder: Path, header: str, lines: list[str]) -> None:
    source = folder / "check.c"
    source.write_text("\n".join(lines) + "\n")
    cc("-std=gnu11", "-Wno-deprecated-declarations", ALL, "-I", header, "-c", "-o", folder / "check.o", source)


def numbers(folder: Path, name: str, flags: list[str], include: str, expressions: list[str]) -> list[int]:
    source = folder / f"{name}.c"
    prints = "\n".join(f'printf("%zu\\n", (size_t){e});' for e in expressions)
    source.write_text(f"#include <stddef.h>\n#include <stdio.h>\n#include {include}\nint main(void) {{ {prints} }}\n")
    cc("-std=gnu11", *flags, "-o", folder / name, source)
    told = subprocess.run([str(folder / name)], capture_output=True, text=True, check=True).stdout
    return [int(line) for line in told.split()]
