"""A recorder and programs for the lab to run. The recorder of the build is used too, where it has been built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab_kit import BUILT, HERE, Build


@pytest.fixture(scope="session")
def fake_recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that does nothing but sign the roll."""
    lib = tmp_path_factory.mktemp("recorder") / "libgpudx.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", lib, HERE / "fake_recorder.c", "-ldl"], check=True)
    return lib


@pytest.fixture(params=["fake", "built"])
def recorder(request: pytest.FixtureRequest, fake_recorder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorder that the lab will find."""
    if request.param == "built" and not BUILT.is_file():
        pytest.skip(f"{BUILT} is not built")
    lib = fake_recorder if request.param == "fake" else BUILT
    monkeypatch.setenv("GPUDX_LIB", str(lib))
    return lib


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile a small C program: build("int main(void){...}", "-static") -> its path."""

    def compile_it(source: str, *flags: str, name: str = "program") -> Path:
        (tmp_path / f"{name}.c").write_text(source)
        program = tmp_path / name
        subprocess.run(["cc", "-o", program, tmp_path / f"{name}.c", *flags], check=True)
        return program

    return compile_it
