"""Runs the command line, with the analysis replaced where a program is run, so that only the commands are tested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import HERE, IN_PROCESS, Gpudx, in_process
from support import forked

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
def gpudx_cli(tmp_path: Path, request: pytest.FixtureRequest) -> Gpudx:
    """gpudx_cli("run", "--", "true", finds="error") -> how it ended. `finds`: what the analysis finds. `process=True`: in a process
    of its own, also where that is not needed."""

    def call(*words: str, finds: str = "", process: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        if words and words[0] in IN_PROCESS and not (finds or process):
            return in_process(words, tmp_path, {**os.environ, **more})
        environment = request.getfixturevalue("environment")
        env = {**environment, "STAND_IN": finds, **more}
        return forked.gpudx(*words, cwd=tmp_path, env=env, script=HERE / "stand_in.py")

    return call
