"""HIP hooks under a sanitizer. Programs are built by the real hipcc; execution is simulated."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hip_kit import Kit, spoilt
from support import sanitized
from support.simulated import crossed

from gpudx.lab.build import Built

MOST_CPU_S = 3.0  # of a program that takes hundredths of a second
PROGRAMS = [
    ("tour",),
    ("graphs", "captured", "keep"),
    ("red", "around"),
    ("watched", "ok"),
    ("watched", "errors"),
    ("watched", "devices"),
    ("configured",),
]


@pytest.fixture(scope="session")
def careful(kit: Kit) -> Kit:
    """Recorder with sanitizers; the runtime and the programs are the others'."""
    return sanitized.like(kit)


@pytest.mark.parametrize(("words", "way"), crossed(PROGRAMS, sanitized.WAYS), ids=sanitized.named)
def test_programs_run_as_before(kit: Kit, careful: Kit, words: tuple[str, ...], way: dict[str, str]) -> None:
    """Launches, copies, graphs, captures, errors, two devices, every family of memory, threads."""
    built, two = kit.hip_program(words[0]), {"GPUDX_HIP_SIM_DEVICES": "2"}
    ran = careful.run_hip(built, *words[1:], **two, **way)
    assert ran.seen == kit.run_hip(built, *words[1:], record=False, **two).seen and ran.returncode == 0
    assert not {gap.kind for trace in ran.traces() for gap in trace.gaps} & {"damaged", "stopped", "cut-file"}


@pytest.mark.parametrize(("fault", "way"), crossed(["past", "null", "freed", "good"], sanitized.WAYS), ids=sanitized.named)
def test_faults(kit: Kit, careful: Kit, fault: str, way: dict[str, str]) -> None:
    """How they end is the simulated runtime's affair."""
    sanitized.check(careful.run_hip(kit.hip_program("faults"), fault, **way).stderr)


@pytest.mark.parametrize("launch", ["_Z3addPKfS0_Pfi#2", "_Z6followPPflf", "_Z6scaled4ViewPf"])
def test_captured_launches(kit: Kit, careful: Kit, tmp_path: Path, launch: str) -> None:
    built, way = kit.hip_program("captured"), {"GPUDX_CAPTURE": launch, "GPUDX_CAPTURE_DIR": str(tmp_path)}
    assert careful.run_hip(built, **way).seen == kit.run_hip(built, record=False).seen
    assert [one.stat().st_size > 4096 for one in tmp_path.glob("launch-*.raw")] == [True]


def test_captured_modules(kit: Kit, careful: Kit, tmp_path: Path) -> None:
    built, code = kit.hip_program("captured"), kit.code_object_of("captured")
    for number, data in enumerate((code.read_bytes(), *spoilt(code.read_bytes()))):
        path = tmp_path / f"{number}.co"
        path.write_bytes(data)
        way = {"GPUDX_CAPTURE": "_Z3addPKfS0_Pfi", "GPUDX_CAPTURE_DIR": str(tmp_path)}
        assert careful.run_hip(built, "module", str(path), **way).seen == kit.run_hip(built, "module", str(path), record=False).seen


def test_damaged_code_objects(careful: Kit, by_dlsym: Built, code_object: Path, tmp_path: Path) -> None:
    for number, data in enumerate(spoilt(code_object.read_bytes())):
        path = tmp_path / f"{number}.co"
        path.write_bytes(data)
        plain = careful.run_hip(by_dlsym, str(path), record=False)
        assert careful.run_hip(by_dlsym, str(path)).seen == plain.seen


@pytest.mark.parametrize("key", [b".args", b"amdhsa.kernels"])
def test_a_list_that_claims_to_be_endless(kit: Kit, by_dlsym: Built, code_object: Path, tmp_path: Path, key: bytes) -> None:
    """MessagePack, "array 32" with 2^32 - 1 entries, of which there is none: reading ends where the first entry cannot be read."""
    data = bytearray(code_object.read_bytes())
    at = data.index(key) + len(key)
    assert data[at] & 0xF0 == 0x90, "a short list, by its first byte"
    data[at : at + 5] = b"\xdd\xff\xff\xff\xff"
    path = tmp_path / "endless.co"
    path.write_bytes(data)
    plain, before = kit.run_hip(by_dlsym, str(path), record=False), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert kit.run_hip(by_dlsym, str(path)).seen == plain.seen
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < MOST_CPU_S


# ---- threads ----


@pytest.fixture(scope="session", params=["address", "thread"])
def guarded(kit: Kit, careful: Kit, request: pytest.FixtureRequest) -> Kit:
    return careful if request.param == "address" else sanitized.like(kit, request.param)


@pytest.mark.parametrize("way", sanitized.WAYS, ids=sanitized.named)
def test_threads_that_unmap_what_others_pass(kit: Kit, guarded: Kit, way: dict[str, str]) -> None:
    ran = guarded.run_hip(kit.hip_program("remaps"), GPUDX_HIP_SIM_NOOP="1", **way)
    assert ran.seen == (0, "still here\n", "")
