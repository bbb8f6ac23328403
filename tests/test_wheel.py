"""The wheel as a user gets it: built for an old glibc, installed where there is no compiler, and it diagnoses a program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[1]
NEWEST_GLIBC = (2, 28)
CLONED = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.origin.url", "GIT_CONFIG_VALUE_0": "git@example.org:team/gpudx.git"}

pytestmark = [pytest.mark.builds, pytest.mark.slow]


def call(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    for name in ("PYTHONPATH", "CC", "VIRTUAL_ENV"):
        env.pop(name, None)
    return subprocess.run(
        [*map(str, words)], env=env, capture_output=True, text=True, check=False, timeout=1200, cwd="/"
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    done = call(ROOT / "tools/wheel", place, **CLONED)
    if "No matching distribution" in done.stderr:
        pytest.skip("the compiler for wheels (ziglang) cannot be fetched here")
    assert done.returncode == 0, done.stdout + done.stderr
    return next(place.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment with the wheel and an OpenCL device, and nothing else in PATH."""
    venv = tmp_path_factory.mktemp("user") / "venv"
    assert call(sys.executable, "-m", "venv", venv).returncode == 0
    done = call(venv / "bin/python", "-m", "pip", "install", "--quiet", f"{wheel}[demo]")
    assert done.returncode == 0, done.stderr
    return venv / "bin"


def test_its_name_and_what_is_in_it(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-manylinux_2_28_x86_64.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name]
    assert {"gpudx/py.typed", "gpudx/_native/libgpudx.so", "gpudx/_native/libgpudx-opencl.so"} <= set(names)


def test_its_metadata(wheel: Path) -> None:
    files = zipfile.ZipFile(wheel)
    (place,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
    text = files.read(place).decode()
    for needed in (
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "Classifier: Typing :: Typed",
        "Project-URL: Source, https://example.org/team/gpudx\n",
    ):
        assert needed in text


def test_it_needs_no_newer_glibc(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        libraries = [files.extract(name, tmp_path) for name in files.namelist() if name.endswith(".so")]
    assert {Path(one).name for one in libraries} == {"libgpudx.so", "libgpudx-opencl.so", "libgpudx-heap.so"}
    for library in libraries:
        wanted = set(_versions(Path(library)))
        assert wanted and max(wanted) <= NEWEST_GLIBC, library


def _versions(library: Path) -> Iterator[tuple[int, ...]]:
    """The versions of glibc whose symbols it takes. Names of versions in its own data, which it looks for at run time, do not count."""
    with library.open("rb") as file:
        for _, names in ELFFile(file).get_section_by_name(".gnu.version_r").iter_versions():
            for name in (one.name for one in names):
                if name.startswith("GLIBC_"):
                    yield tuple(map(int, name.removeprefix("GLIBC_").split(".")))


def test_it_works_without_a_compiler(installed: Path, tmp_path: Path) -> None:
    doctor = call(installed / "gpudx", "doctor", PATH=str(installed))
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert re.search(r"^recorder +found", doctor.stdout, re.MULTILINE)
    assert re.search(r"^C compiler +not found", doctor.stdout, re.MULTILINE)
    assert "run here: opencl-python-queues" in doctor.stdout
    demo = call(installed / "gpudx", "demo", "--case", tmp_path / "case", PATH=str(installed))
    assert demo.returncode == 0, demo.stderr
    assert "CONFIRMED unordered-access" in demo.stderr
