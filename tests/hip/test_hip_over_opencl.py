"""HIP that is made out of OpenCL or Level Zero is one program, recorded once. The runtimes are little ones of our own: over the OpenCL of
this machine, which really runs the kernel (programs/over_opencl.c), and over the loader of Level Zero, which has no device to run it on
(programs/over_level_zero.c)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cuda_kit import Call, decode, of
from hip_kit import HERE, Kit

from gpudx.lab.build import Built

RESULT = "56, 0 failed\n"
LOADERS = (os.environ.get("GPUDX_TEST_LEVEL_ZERO", ""), "/usr/lib/x86_64-linux-gnu/libze_loader.so.1", "/usr/lib64/libze_loader.so.1")


def built(kit: Kit, *flags: str) -> Path:
    words = ["gcc", "-shared", "-fPIC", "-w", HERE / "programs/over_opencl.c", "-lOpenCL", "-Wl,-soname,libhipcl.so.0"]
    try:
        library = kit.built("libhipcl.so.0", *words)
    except subprocess.CalledProcessError:
        pytest.skip("OpenCL headers and a loader are not installed (apt install ocl-icd-opencl-dev)")
    name = f"over{len(flags)}"
    program = kit.built(name, "gcc", "-w", HERE / "programs/over.c", library, f"-Wl,-rpath,{library.parent}", *flags)
    plain = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=120)
    if plain.stdout != RESULT:
        pytest.skip("OpenCL has no device here that runs the kernel")
    return program


def recorded(kit: Kit, program: Path) -> list[Call]:
    ran = kit.run_hip(Built(program), OPENCL_LAYERS=str(kit.recorder))
    assert ran.returncode == 0 and ran.stdout == RESULT
    return decode(ran.trace())


def test_each_launch_is_recorded_once(kit: Kit) -> None:
    calls = recorded(kit, built(kit))
    assert len(of(calls, "hipModuleLaunchKernel")) == 3
    assert not [c for c in calls if c.name.startswith("cl")]


def test_a_program_that_uses_opencl_too_has_both(kit: Kit) -> None:
    calls = recorded(kit, built(kit, "-Wl,--no-as-needed", "-lOpenCL"))
    assert len(of(calls, "hipModuleLaunchKernel")) == len(of(calls, "clEnqueueNDRangeKernel")) == 3


def test_the_layer_beneath_is_told_with_the_device(kit: Kit) -> None:
    trace = kit.run_hip(Built(built(kit)), OPENCL_LAYERS=str(kit.recorder)).trace()
    (note,) = of(decode(trace), "note_device")
    assert trace.text(note.position, "text2") == "HIP 6.0 over OpenCL"


def test_over_level_zero_it_is_recorded_once_too(kit: Kit) -> None:
    loader = next((path for path in map(Path, filter(None, LOADERS)) if path.exists()), None)
    if loader is None:
        pytest.skip("Level Zero's loader is not installed (apt install libze1)")
    words = ["gcc", "-shared", "-fPIC", "-w", HERE / "programs/over_level_zero.c", loader, f"-Wl,-rpath,{loader.parent}"]
    library = kit.built("libhipze.so.0", *words, "-Wl,-soname,libhipze.so.0")
    program = kit.built("over-ze", "gcc", "-w", HERE / "programs/over.c", library, f"-Wl,-rpath,{library.parent}")
    ran = kit.run_hip(Built(program))
    assert ran.returncode == 0 and ran.stdout == RESULT
    trace = ran.trace()
    calls = decode(trace)
    (note,) = of(calls, "note_device")
    assert trace.text(note.position, "text2") == "HIP 6.0 over Level Zero"
    assert len(of(calls, "hipModuleLaunchKernel")) == 3 and len(of(calls, "hipMalloc")) == 1
