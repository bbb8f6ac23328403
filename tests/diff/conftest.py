"""Recorded runs to hold against each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_kit import Record, gpudx
from support.opencl import OpenCL

LINES = Path(__file__).parent / "programs/lines.c"


@pytest.fixture(scope="module")
def record(opencl: OpenCL, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Runs tests/diff/programs/lines.c on a real driver (PoCL) under `gpudx run`; gives the case. One name, one run."""
    program, folder = opencl.build([LINES]), tmp_path_factory.mktemp("cases")

    def run(name: str, *words: str, **environment: str) -> Path:
        own = {**opencl.loader.environment, "POCL_CACHE_DIR": str(opencl.kernels), **environment}
        if (folder / name).exists():
            return folder / name
        done = gpudx("run", "-q", "--case", folder / name, "--", program, *words, **own)
        assert done.returncode == 0, done.stderr
        return folder / name

    return run
