"""Device code of a clang of today: code objects of version 6, compressed bundles and SPIR-V, as it writes them."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from cuda_kit import decode, of, values
from hip_kit import HERE, Kit

from gpudx.evidence import _amd_waves, code_objects
from gpudx.evidence._amd_lines import source_line
from gpudx.evidence._device_code import Image
from gpudx.lab.build import Built

VERSION = next((n for n in range(40, 18, -1) if shutil.which(f"clang-{n}") and shutil.which(f"ld.lld-{n}")), None)
MISSING = "no clang of version 19 or later is installed (apt install clang-22 lld-22 llvm-22)"
pytestmark = pytest.mark.skipif(VERSION is None, reason=MISSING)
SOURCE = HERE / "programs/plain_launch.hip"
CHIPS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1200": 32, "gfx9-4-generic": 64}
PARAMETERS = [(0, 8), (8, 8), (16, 4), (20, 4), (24, 16)]
V6, PACKED = ("--offload-arch=gfx942", "-mcode-object-version=6"), ("--offload-compress",)
SPIRV = ("--offload-arch=amdgcnspirv", "-use-spirv-backend")


def built(folder: Path, *options: str, runtime: Path | None = None) -> Path:
    """The program, or its device code by itself."""
    made = folder / "app"
    words = [f"clang-{VERSION}", "-x", "hip", *options, "-nogpulib", "-nogpuinc", "-O2", "-g", SOURCE, "-o", made]
    words += ["-no-hip-rt", "-x", "none", runtime] if runtime else ["-c"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode and "spirv" in "".join(options):
        pytest.skip(f"clang-{VERSION} cannot write SPIR-V for AMD: {done.stderr.splitlines()[0]}")
    assert not done.returncode, done.stderr
    return made


def images(folder: Path, *options: str) -> list[Image]:
    return list(code_objects.read(built(folder, *options)).images)


@pytest.mark.parametrize(("chips", "more"), [(tuple(CHIPS), ()), (("gfx942", "gfx1100"), PACKED)], ids=["plain", "compressed"])
def test_code_objects_of_version_6(tmp_path: Path, chips: tuple[str, ...], more: tuple[str, ...]) -> None:
    options = [f"--offload-arch={chip}" for chip in chips]
    found = {image.target: image for image in images(tmp_path, *options, "-mcode-object-version=6", *more)}
    assert set(found) == set(chips)
    for chip, image in found.items():
        kernels = {one.build.mangled: one for one in image.kernels}
        scale, turn, deep = (kernels[name] for name in ("_Z5scalePfPKffi4Pair", "_Z4turnPfi", "_Z4deepPfi"))
        assert (image.form, image.unread, scale.build.wave_size) == ("code object v6", "", CHIPS[chip])
        assert [(p.offset, p.size) for p in scale.parameters or ()] == PARAMETERS
        assert (turn.build.static_shared_bytes, turn.build.max_threads) == (256, 64)
        assert deep.build.stack_bytes is not None and deep.build.stack_bytes >= 2048
        if chip.startswith("gfx9"):
            assert (kernels["_Z4manyPfi"].build.spill_stores or 0) > 0 == scale.build.spill_stores


def test_numbers_are_those_of_the_compilers_own_reader(tmp_path: Path) -> None:
    tool = shutil.which(f"llvm-readelf-{VERSION}")
    if tool is None:
        pytest.skip("llvm-readelf is not installed")
    options = (*V6, "--cuda-device-only", "--no-gpu-bundle-output")
    made = built(tmp_path, *options)
    (image,) = code_objects.read(made).images
    text = subprocess.run([tool, "--notes", made], capture_output=True, text=True, check=True).stdout
    for key, name in ((".vgpr_count", "registers"), (".private_segment_fixed_size", "stack_bytes"), (".wavefront_size", "wave_size")):
        told = [int(number) for number in re.findall(rf"{re.escape(key)}:\s+(\d+)", text)]
        assert told == [getattr(one.build, name) for one in image.kernels]
    assert {one.build.mangled for one in image.kernels if one.traps} == set()  # it traps behind a condition


def test_lines_accesses_traps_and_barriers(tmp_path: Path) -> None:
    tool = shutil.which(f"llvm-objdump-{VERSION}")
    if tool is None:
        pytest.skip("llvm-objdump is not installed")
    for chip in CHIPS:
        folder = tmp_path / chip
        folder.mkdir()
        options = (f"--offload-arch={chip}", "-mcode-object-version=6", "--cuda-device-only", "--no-gpu-bundle-output")
        made = built(folder, *options)
        text = subprocess.run([tool, "-d", made], capture_output=True, text=True, check=True).stdout
        rows = re.findall(r"^\s+(\w.*?)\s+// ([0-9A-F]+):", text, re.M)
        listing = _amd_waves.code(f"{int(at, 16):#x}: {line}" for line, at in rows)
        assert {"s_trap", "s_endpgm"} <= {one.name for one in listing}
        assert any(one.name.startswith("s_barrier") for one in listing) or "_barrier" in text
        stores = [one for one in listing if one.name.startswith("global_store")]
        assert stores and all(_amd_waves.made_of(one) for one in stores)
        lines = {str(source_line(made.read_bytes(), one.pc)) for one in stores}
        assert f"{SOURCE.name}:22" in {line.rpartition("/")[2] for line in lines}  # y[i] = ...


@pytest.mark.parametrize("more", [(), PACKED], ids=["plain", "compressed"])
def test_spirv(tmp_path: Path, more: tuple[str, ...]) -> None:
    (image,) = images(tmp_path, *SPIRV, *more)
    assert (image.vendor, image.target, image.unread) == ("SPIR-V", "amdgcnspirv", "")
    kernels = {one.build.mangled: one for one in image.kernels}
    assert [(p.offset, p.size) for p in kernels["_Z5scalePfPKffi4Pair"].parameters or ()] == PARAMETERS
    assert [one.static_shared_bytes for one in (kernels["_Z4turnPfi"].build, kernels["_Z4deepPfi"].build)] == [256, 0]
    assert kernels["_Z4turnPfi"].build.max_threads == 64


@pytest.mark.parametrize("options", [V6, (*V6, *PACKED), SPIRV, (*SPIRV, *PACKED)], ids=["v6", "v6-packed", "spirv", "spirv-packed"])
def test_launches_have_their_arguments(kit: Kit, tmp_path: Path, options: tuple[str, ...]) -> None:
    runtime = kit.runtime("7")
    program = Built(built(tmp_path, *options, runtime=runtime), {"LD_LIBRARY_PATH": str(runtime.parent)})
    ran = kit.run_hip(program, GPUDX_HIP_SIM_ARCH="gfx942:sramecc+:xnack-")
    assert ran.returncode == 0, ran.stderr
    trace = ran.trace()
    calls = decode(trace)
    (memory,) = [c.words["result"] for c in of(calls, "hipMalloc")]
    scale, turn = (values(trace, launch.position) for launch in of(calls, "hipLaunchKernel"))
    given = [value for _, _, value in scale]
    assert given[:4] == [struct.pack("<Q", memory), struct.pack("<Q", memory + 256), struct.pack("<f", 1.5), struct.pack("<i", 100)]
    assert (given[4][:4], given[4][8:]) == (struct.pack("<i", 7), struct.pack("<d", 2.5))
    assert [value for _, _, value in turn] == [struct.pack("<Q", memory), struct.pack("<i", 3)]
