"""Runs the command line as a process of its own, with the analysis replaced, so that only the commands are tested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import HERE, Gpudx

import gpudx

sys.path.insert(0, str(HERE.parent / "casefile"))  # the sample cases


@pytest.fixture(scope="session")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that does nothing but sign the roll."""
    lib = tmp_path_factory.mktemp("recorder") / "libgpudx.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", lib, HERE.parent / "lab/fake_recorder.c", "-ldl"], check=True)
    return lib


@pytest.fixture
def environment(recorder: Path) -> dict[str, str]:
    """The environment of a gpudx with the fake recorder."""
    return {**os.environ, "GPUDX_LIB": str(recorder), "PYTHONPATH": str(Path(gpudx.__file__).parents[1])}


@pytest.fixture
def gpudx_cli(tmp_path: Path, environment: dict[str, str]) -> Gpudx:
    """gpudx_cli("run", "--", "true", finds="error") -> the finished process. `finds`: what the analysis finds."""

    def call(*words: str, finds: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(HERE / "stand_in.py"), *words]
        env = {**environment, "STAND_IN": finds, **more}
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)

    return call
