"""Device code that does not fit the device. Code objects and programs are those of the real hipcc; the device, its architecture and
its refusals are simulated."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hip_kit import HERE, Kit

from gpudx.backends.hip.images import Code, device_target, listed, read, readable
from gpudx.lab.build import Built

AMD = {"HIP_PLATFORM": "amd"}
MI200 = {"architecture": 0x90A, "features": 0b0110}


@pytest.fixture(scope="module")
def by_dlsym(kit: Kit) -> Built:
    words = ["hipcc", "-x", "c++", HERE / "programs/modules.cpp", "-ldl", "-D__HIP_PLATFORM_AMD__", "-I/usr/include"]
    program = kit.built("modules", *words, env=AMD)
    return Built(program, kit.hip_program("faults").environment)


def told(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in case["findings"] if finding["id"] == "unusable-image"]


def test_a_program_without_code_for_the_device(kit: Kit, tmp_path: Path) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "checked", GPUDX_HIP_SIM_ARCH="gfx1030")
    (found,), best = told(case), case["diagnosis"][0]
    assert "the image has code for gfx90a; the device is gfx1030 (simulated AMD device 0)" in found["message"]
    assert (best["cause"], best["status"]) == (
        "wrong-architecture",
        "likely",
    )  # it ended with status 1, as others do too
    assert best["guilty"]["kernel"] == "touch"


def test_the_same_program_on_its_device(kit: Kit, tmp_path: Path) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "good")
    assert case["outcome"]["kind"] == "passed" and not told(case)


def test_its_architectures_are_part_of_who_ran(kit: Kit, tmp_path: Path) -> None:
    built = kit.hip_program("faults", "--offload-arch=gfx1030")
    case = kit.case_of(built, tmp_path, "good", GPUDX_HIP_SIM_ARCH="gfx1030")
    (program,) = [one for one in case["identity"]["objects"] if one["path"] == str(built.program)]
    assert sorted(program["architectures"]) == ["gfx1030", "gfx90a"]
    assert case["outcome"]["kind"] == "passed" and not told(case)


def test_a_module_for_another_device(kit: Kit, by_dlsym: Built, tmp_path: Path) -> None:
    case = kit.case_of(by_dlsym, tmp_path, str(kit.code_object), GPUDX_HIP_SIM_ARCH="gfx1100")
    (found,) = told(case)
    assert found["message"].startswith("hipModuleLoad failed with hipErrorNoBinaryForGpu")
    assert "the image has code for gfx90a; the device is gfx1100" in found["message"]


def test_a_file_that_is_no_module(kit: Kit, by_dlsym: Built, tmp_path: Path) -> None:
    (tmp_path / "no.co").write_bytes(b"kernel void f() {}" * 100)
    (found,) = told(kit.case_of(by_dlsym, tmp_path, str(tmp_path / "no.co")))
    assert "neither a code object nor a bundle of them" in found["message"]


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        ("gfx90a", True),
        ("gfx90a:xnack-", True),
        ("gfx90a:xnack+", False),
        ("gfx90a:sramecc+", True),
        ("gfx908", False),
        ("amdgcnspirv", True),
        ("gfx9-generic", False),
    ],
)
def test_what_runs_where(code: str, runs: bool) -> None:
    """LLVM, "User Guide for AMDGPU Backend", "Target ID"."""
    assert device_target(MI200) == "gfx90a:sramecc+:xnack-"
    assert Code(code).runs_on(MI200) is runs


def test_what_was_kept_of_an_image() -> None:
    assert read(b"gfx90a gfx1030:xnack-", (), True).holds == "code for gfx90a and gfx1030:xnack-"
    assert not read(b"the device code is compressed", (), False).codes
    assert device_target({}) == ""


def bundle(*names: str, room: int = 4096) -> bytes:
    """As clang writes it, with empty code."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names))
    entries = b"".join(struct.pack("<QQQ", 4096, 100, len(name)) + name.encode() for name in names)
    return (head + entries).ljust(room + 4096, b"\0")


@pytest.mark.parametrize(
    ("data", "found", "searchable"),
    [
        (bundle("host-x86_64", "hipv4-amdgcn-amd-amdhsa--gfx90a"), ("gfx90a",), True),
        (
            bundle("hip-amdgcn-amd-amdhsa--gfx90a") + bundle("hip-amdgcn-amd-amdhsa--gfx1030"),
            ("gfx90a", "gfx1030"),
            True,
        ),
        (b"CCOB" + bytes(100), (), False),
        (bundle("hip-amdgcn-amd-amdhsa--gfx90a")[:50], (), False),
        (b"", (), False),
        (bytes(5000), (), False),
    ],
)
def test_bundles_of_a_section(data: bytes, found: tuple[str, ...], searchable: bool) -> None:
    def read_it(at: int, count: int) -> bytes:
        return data[at : at + count]

    assert listed(read_it) == found
    assert readable(read_it) is searchable
