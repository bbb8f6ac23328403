"""The ways into HIP programs, and code objects that are loaded. Code objects are the real hipcc's; execution is simulated."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_kit import decode, of, values
from hip_kit import Kit, spoilt
from support import forked
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.demos import incidents
from gpudx.lab.build import Built


def test_a_program_that_finds_everything_by_dlsym(kit: Kit, by_dlsym: Built, code_object: Path) -> None:
    ran = kit.run_hip(by_dlsym, str(code_object))
    assert ran.seen == kit.run_hip(by_dlsym, str(code_object), record=False).seen and ran.returncode == 0
    trace = ran.trace()
    calls = decode(trace)
    first, second = of(calls, "hipModuleLaunchKernel")
    assert values(trace, first.position)[0][2] == struct.pack("<Q", 0x5000)
    assert [v[2] for v in values(trace, first.position)][1] == struct.pack("<i", 7)
    assert [v[2] for v in values(trace, second.position)][1] == struct.pack("<i", 9)
    (third,) = of(calls, "hipDrvLaunchKernelEx")
    assert [v[2] for v in values(trace, third.position)][1] == struct.pack("<i", 11)
    assert (third.words["grid_x"], third.words["block_x"]) == (2, 64)
    assert len(of(calls, "hipModuleLoad", "hipModuleGetFunction", "hipModuleUnload")) == 3


def test_a_launch_by_a_configuration(kit: Kit) -> None:
    built = kit.hip_program("configured")
    ran = kit.run_hip(built)
    assert ran.seen == kit.run_hip(built, record=False).seen and "7 at 7" in ran.stdout
    trace = ran.trace()
    (launch,) = of(decode(trace), "hipLaunchKernelExC")
    assert [launch.words[n] for n in ("grid_x", "block_x", "shared_bytes")] == [2, 64, 16]
    assert [v[2] for v in values(trace, launch.position)][1:] == [struct.pack("<i", n) for n in (0, 100)]


# After "CCOB" (Clang documentation, "Clang Offload Bundler"): version, method, size of it all, size before, hash.
HEADS = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}
ZLIB, ZSTD = 0, 1


def compressed(plain: bytes, version: int, method: int) -> bytes:
    """A bundle as LLVM 17 and later make it: the installed compiler is older."""
    if method == ZSTD and shutil.which("zstd") is None:
        pytest.skip("zstd is not installed (apt install zstd)")
    zstd = ["zstd", "-q", "-c"]
    stream = (
        zlib.compress(plain)
        if method == ZLIB
        else subprocess.run(zstd, input=plain, capture_output=True, check=True).stdout
    )
    sizes = (len(plain),) if version == 1 else (struct.calcsize(HEADS[version]) + len(stream), len(plain))
    return struct.pack(HEADS[version], b"CCOB", version, method, *sizes, 0) + stream


@pytest.mark.parametrize("method", [ZLIB, ZSTD])
@pytest.mark.parametrize("version", sorted(HEADS))
def test_compressed_code_is_unpacked(
    kit: Kit, by_dlsym: Built, code_object: Path, tmp_path: Path, version: int, method: int
) -> None:
    packed = tmp_path / "packed.co"
    packed.write_bytes(compressed(code_object.read_bytes(), version, method))
    ran = kit.run_hip(by_dlsym, str(packed))
    assert ran.seen == kit.run_hip(by_dlsym, str(packed), record=False).seen
    trace = ran.trace()
    first, _ = of(decode(trace), "hipModuleLaunchKernel")
    assert [v[2] for v in values(trace, first.position)] == [struct.pack("<Q", 0x5000), struct.pack("<i", 7)]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: b"CCOB" + bytes(8192), "the device code is compressed in a way that is not known"),
        (lambda data: data[:64] + bytes(len(data) - 64), "the compressed device code is damaged"),
        (lambda data: data[: len(data) // 2], "the compressed device code is damaged"),
        (lambda data: data[:16] + b"\xff" * 8 + data[24:], "the device code is compressed in a way that is not known"),
    ],
)
def test_compressed_code_that_cannot_be_read_is_said_to_be_so(
    kit: Kit, by_dlsym: Built, code_object: Path, tmp_path: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    packed = tmp_path / "packed.co"
    packed.write_bytes(spoil(compressed(code_object.read_bytes(), 3, ZLIB)))
    ran = kit.run_hip(by_dlsym, str(packed))
    assert ran.seen == kit.run_hip(by_dlsym, str(packed), record=False).seen
    trace = ran.trace()
    first, _ = of(decode(trace), "hipModuleLaunchKernel")
    assert first.flags & trace.schema.flags["cut"] and not values(trace, first.position)
    assert [trace.text(c.position) for c in of(decode(trace), "note_image")] == [why]


def test_damaged_code_objects_do_no_harm(kit: Kit, by_dlsym: Built, code_object: Path, tmp_path: Path) -> None:
    """Every 16th byte of the metadata and headers changed, and files cut short."""
    for number, data in enumerate(spoilt(code_object.read_bytes())):
        path = tmp_path / f"{number}.co"
        path.write_bytes(data)
        assert kit.run_hip(by_dlsym, str(path)).seen == kit.run_hip(by_dlsym, str(path), record=False).seen


def test_one_fault_reported_in_two_places_is_one_verdict(kit: Kit, tmp_path: Path) -> None:
    """The copy tells it, or with blocking launches RoPE's check: the error did not move, its report did."""
    name = "hip-rope-misattributed"
    known, built = incidents.every()[name], kit.incident(name)
    env = os.environ | built.environment | {"GPUDX_LIB": str(kit.recorder), "PYTHONPATH": PYTHONPATH} | known.environment
    seen = []
    for number, blocking in enumerate(("0", "1")):
        case = tmp_path / str(number)
        words = ("run", "--case", case, "--", built.program)
        done = forked.gpudx(*words, env=env | {"HIP_LAUNCH_BLOCKING": blocking})
        best = json.loads((case / "case.json").read_text())["diagnosis"][0]
        where = "hipMemcpy D2H" if blocking == "0" else "RoPE Q launch"
        assert f"{where} failed: an illegal memory access was encountered" in done.stderr
        assert incidents.differences(known, casefile.read(case), False) == []
        seen.append((best["cause"], best["guilty"]["kernel"], best["guilty"]["launch"], best["guilty"]["argument"]))
    assert seen == [("out-of-bounds-access", "gemm_f32", 2, 0)] * 2
