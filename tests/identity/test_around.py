"""What is around a program: device code in its files, registered drivers, packages, variables, build steps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.device_images import CUBIN, PTX, entry, fat

from gpudx import backends
from gpudx.backends.cuda.images import COMPRESSED, listed, readable
from gpudx.backends.opencl.icds import drivers
from gpudx.elf.image import Image
from gpudx.identity.contents import section
from gpudx.identity.packages import interpreters, packages
from gpudx.identity.settings import settings
from gpudx.identity.steps import steps
from gpudx.lab.roll import RollEntry
from gpudx.model import LoadedObject


def reader(data: bytes) -> backends.Read:
    return lambda at, size: data[at : at + size] if at >= 0 else b""


def compressed(data: bytes) -> bytes:
    return data[:40] + (int.from_bytes(data[40:48], "little") | COMPRESSED).to_bytes(8, "little") + data[48:]


def test_fat_binaries_one_behind_the_other() -> None:
    data = fat([entry(CUBIN, 75), entry(PTX, 80)]) + bytes(8) + fat([entry(CUBIN, 90, "a", room=112), entry(CUBIN, 75)])
    assert listed(reader(data)) == ("sm_75", "compute_80", "sm_90a")


@pytest.mark.parametrize("size", range(0, 200, 7))
def test_cut_fat_binaries(size: int) -> None:
    data = fat([entry(CUBIN, 75), entry(PTX, 80)])
    assert set(listed(reader(data[:size]))) <= {"sm_75", "compute_80"}
    assert listed(reader(bytes(size))) == ()


def test_texts_in_device_code() -> None:
    assert readable(reader(fat([entry(CUBIN, 75), compressed(entry(PTX, 80))])))
    assert not readable(reader(fat([compressed(entry(CUBIN, 75))])))
    assert not readable(reader(fat([entry(PTX, 80)])))


def test_what_nvcc_writes(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc", path="/usr/local/cuda/bin:/usr/local/cuda-13.0/bin:/usr/bin")
    if nvcc is None:
        pytest.skip("no nvcc")
    (tmp_path / "k.cu").write_text("__global__ void k(float *p) { p[0] = 1; }\nint main() { k<<<1, 1>>>(0); }\n")
    codes = ["-gencode", "arch=compute_90,code=sm_90", "-gencode", "arch=compute_80,code=compute_80"]
    done = subprocess.run([nvcc, "-cudart", "shared", *codes, "k.cu", "-o", "k"], cwd=tmp_path, check=False)
    if done.returncode:
        pytest.skip("nvcc does not build here")
    image = Image.open(str(tmp_path / "k"))
    assert image is not None
    assert set(backends.architectures(lambda name: section(image, name))) == {"sm_90", "compute_80"}


def test_a_host_object_has_no_device_code() -> None:
    image = Image.open("/proc/self/exe")
    assert image is not None and backends.architectures(lambda name: section(image, name)) == ()


def test_registered_drivers(tmp_path: Path) -> None:
    (tmp_path / "a.icd").write_text("/gone/liba.so\n")
    (tmp_path / "b.icd").write_text("libb.so.1\n")
    found = dict(drivers({"OCL_ICD_VENDORS": str(tmp_path)}))
    assert "which is not there" in found["/gone/liba.so"] and found["libb.so.1"] == ""
    assert "does not exist" in drivers({"OCL_ICD_VENDORS": str(tmp_path / "no")})[0][1]
    assert drivers({"OCL_ICD_VENDORS": "/gone/libc.so"})[0][1].startswith("OCL_ICD_VENDORS names the driver")


def test_packages_of_the_folders_that_were_used(tmp_path: Path) -> None:
    folder = tmp_path / "lib/python3.11/site-packages"
    for name in ("numpy-1.26.0.dist-info", "rich-13.7.1.dist-info", "odd.dist-info", "numpy"):
        (folder / name).mkdir(parents=True)
    objects = [LoadedObject(f"{folder}/numpy/core/x.so"), LoadedObject("/usr/bin/python3.11", executable=True)]
    assert [(one.name, one.version, one.loaded) for one in packages(objects)] == [
        ("numpy", "1.26.0", True),
        ("rich", "13.7.1", False),
    ]
    assert interpreters(objects) == ("Python 3.11 (/usr/bin/python3.11)",)
    assert packages([LoadedObject("/gone/site-packages/x/y.so")]) == ()


def test_every_variable_says_what_it_means_and_where_that_is_said() -> None:
    for name, (meaning, source) in backends.variables().items():
        assert name.isupper() and meaning and source and not meaning.endswith("."), name


def test_variables_that_matter() -> None:
    found = {
        one.name: one
        for one in settings({"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "POCL_X": "1", "HOME": "/", "LD_AUDIT": ""})
    }
    assert set(found) == {"HSA_OVERRIDE_GFX_VERSION", "POCL_X"}


def test_no_device_at_all_is_said_of_an_empty_list() -> None:
    (told,) = settings({"CUDA_VISIBLE_DEVICES": "", "HIP_LAUNCH_BLOCKING": ""})
    assert told.name == "CUDA_VISIBLE_DEVICES" and "none if it is empty" in told.meaning


def loaded(pid: int, ppid: int, path: str) -> RollEntry:
    return RollEntry(1, pid, ppid, pid * 1000, path)


def ended(pid: int, path: str, status: int) -> RollEntry:
    return RollEntry(5, pid, 1, pid * 1000 + 500, path, status=status)


def test_steps_of_a_build() -> None:
    roll = [
        loaded(2, 1, "/usr/bin/make"),
        loaded(3, 2, "/usr/bin/make"),  # of a folder below
        loaded(4, 3, "/usr/bin/x86_64-linux-gnu-gcc-12"),
        ended(4, "/usr/bin/x86_64-linux-gnu-gcc-12", 1),
        ended(3, "/usr/bin/make", 2),
        ended(2, "/usr/bin/make", 2),
        loaded(5, 1, "/usr/bin/ninja"),
        loaded(6, 1, "/usr/bin/gcc"),  # nobody's: a script that tries
    ]
    assert [(step.tool, step.status, step.compiled) for step in steps(roll)] == [
        ("/usr/bin/make", 2, True),
        ("/usr/bin/ninja", None, False),
    ]


def test_numbers_of_processes_that_were_used_twice() -> None:
    assert len(steps([loaded(2, 3, "/usr/bin/make"), loaded(3, 2, "/usr/bin/ninja")])) == 0
