"""Device code that cannot be loaded: what is kept of images, however broken, and what is said of them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from cuda_kit import Kit, Ran, decode, of
from support.device_images import CUBIN, PTX, cubin, entry, fat, ptx

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Finding, Outcome

FAILED = Outcome("exit", "The program exited with status 1.", 1)
NVCC = shutil.which("nvcc")
NEWER = fat([entry(CUBIN, 120, room=112), entry(PTX, 120, room=80)])


def load(kit: Kit, image: bytes, how: str, status: int, call: str) -> Ran:
    """A run that loads an image and has one call refused."""
    path = kit.folder / f"image-{abs(hash(image)):x}"
    path.write_bytes(image)
    command = [kit.program("images"), how, path]
    plain, recorded = kit.both(command, {"FAKE_CUDA_REFUSE": f"{call}:1:{status}"} if status else None)
    assert recorded.seen == plain.seen
    return recorded


def found(ran: Ran) -> list[Finding]:
    return [f for f in detect_all(derive(ran.trace()), Run(FAILED)) if f.id == "unusable-image"]


def targets(ran: Ran) -> list[str] | None:
    """The architectures of the one image of a run, None if nothing is known of it."""
    facts = derive(ran.trace())
    (position,) = [c.position for c in of(decode(facts.trace), "cuModuleLoadData", "cuModuleLoad", "cuLibraryLoadData")]
    image = facts.images.at(position)
    return [code.target for code in image.codes] if image else None


@pytest.mark.parametrize(
    ("how", "call"), [("data", "cuModuleLoadData"), ("file", "cuModuleLoad"), ("library", "cuLibraryGetKernel")]
)
def test_a_fat_binary_without_code_for_the_device(kit: Kit, how: str, call: str) -> None:
    """At once, from a file, and when the first kernel of a library is asked for."""
    ran = load(kit, NEWER, how, 209, call)
    (one,) = found(ran)
    kernel = " for kernel scale" if how == "library" else ""
    assert one.message == (
        f"{call}{kernel} failed with CUDA_ERROR_NO_BINARY_FOR_GPU: the image has code for sm_120, PTX for compute_120; the "
        "device is sm_90 (Fake device for tests)."
    )
    told = diagnose(list(detect_all(derive(ran.trace()), Run(FAILED))), FAILED)
    assert (told[0].cause, told[0].status) == ("wrong-architecture", "confirmed")


@pytest.mark.parametrize(
    "image",
    [
        fat([entry(CUBIN, 75), entry(CUBIN, 90)]),
        fat([entry(CUBIN, 90, "a")]),
        fat([entry(PTX, 75)]),
        cubin(90),
        cubin(90, abi=7),
        ptx("sm_80"),
    ],
    ids=["cubins", "exact", "old PTX", "cubin", "older cubin", "PTX text"],
)
def test_an_image_that_fits_is_silent(kit: Kit, image: bytes) -> None:
    """The failure has another reason."""
    assert not found(load(kit, image, "data", 209, "cuModuleLoadData"))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (cubin(120), ["sm_120"]),
        (cubin(86, abi=7), ["sm_86"]),
        (ptx("sm_100a", "8.7"), ["compute_100a"]),
        (
            fat([entry(CUBIN, 75), entry(CUBIN, 100, "f", room=112), entry(16, 80), entry(PTX, 90)]),
            ["sm_75", "sm_100f", "compute_90"],
        ),
        (fat([entry(CUBIN, a) for a in range(30, 130)]), [f"sm_{a}" for a in range(30, 90)]),
    ],
    ids=["cubin", "older cubin", "PTX", "fat", "more than is kept"],
)
@pytest.mark.parametrize("how", ["data", "edge", "file"])
def test_what_is_kept_of_an_image(kit: Kit, how: str, image: bytes, expected: list[str]) -> None:
    call = "cuModuleLoad" if how == "file" else "cuModuleLoadData"
    assert targets(load(kit, image, how, 209, call)) == expected


HOSTILE = {
    "only a magic number": struct.pack("<I", 0xBA55ED50),
    "no entries": fat([]),
    "endless": fat([entry(CUBIN, 90)], size=(1 << 64) - 1),
    "size that wraps": fat([entry(CUBIN, 90)], size=(1 << 64) - 20),
    "payload without end": fat([struct.pack("<HHIQ", 2, 0x101, 64, (1 << 64) - 64).ljust(64, b"\0")]),
    "entry without a header": fat([struct.pack("<HHIQ", 2, 0x101, 0, 0).ljust(64, b"\0")] * 3),
    "entry with a huge header": fat([struct.pack("<HHIQ", 2, 0x101, 0xFFFFFFFF, 8).ljust(64, b"\0")]),
    "first entry inside the header": fat([entry(CUBIN, 90)], header=0),
    "first entry far away": fat([entry(CUBIN, 90)], header=0xFFFF),
    "cut ELF": cubin(90)[:20],
    "empty": b"",
    "zeros": b"\0" * 64,
}


@pytest.mark.parametrize("image", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("how", ["data", "edge", "file"])
def test_hostile_images_harm_nobody(kit: Kit, how: str, image: bytes) -> None:
    """The run is that of the plain program, and the record is sound."""
    ran = load(kit, image, how, 200, "cuModuleLoad" if how == "file" else "cuModuleLoadData")
    assert ran.returncode == 1 and all(f.evidence for f in found(ran))
    (note,) = of(decode(ran.trace()), "note_image") or [None]
    assert note is None or note.words["entries"] <= 60


def test_a_wrapper_that_points_nowhere(kit: Kit) -> None:
    ran = load(kit, b"x", "nowhere", 200, "cuLibraryLoadData")
    (note,) = of(decode(ran.trace()), "note_image")
    assert note.words["entries"] == 0 and ran.trace().text(note.position) == ""


def test_a_file_that_is_not_there(kit: Kit) -> None:
    ran = kit.run([kit.program("images"), "file", "/nowhere/at/all"])
    assert ran.returncode == 1 and not of(decode(ran.trace()), "note_image") and not found(ran)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "it begins with 'version https://git-lfs.'"),
        (cubin(0, machine=62), "an ELF file for x86-64"),
    ],
)
def test_what_is_no_device_code(kit: Kit, image: bytes, said: str) -> None:
    (one,) = found(load(kit, image, "data", 200, "cuModuleLoadData"))
    assert one.causes == ("not-device-code",) and said in one.message


@pytest.mark.skipif(NVCC is None, reason="no nvcc here")
def test_what_a_real_compiler_writes(kit: Kit, tmp_path: Path) -> None:
    """The places that images.py reads are those that nvcc writes to."""
    source = tmp_path / "k.cu"
    source.write_text("__global__ void scale(float *p) { p[0] *= 2; }\n")
    wanted = ["arch=compute_80,code=sm_80", "arch=compute_90a,code=sm_90a", "arch=compute_90,code=compute_90"]
    made = tmp_path / "k.fatbin"
    flags = [part for one in wanted for part in ("-gencode", one)]
    done = subprocess.run(
        [str(NVCC), "-fatbin", *flags, "-o", made, source], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"nvcc does not work here: {done.stderr[-200:]}")
    kept = targets(load(kit, made.read_bytes(), "data", 209, "cuModuleLoadData"))
    assert kept == ["sm_80", "sm_90a", "compute_90"]
