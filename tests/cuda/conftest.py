"""One Kit for all tests of the CUDA hooks: everything is compiled once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cuda_kit import Kit


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Kit:
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc) here")
    return Kit(tmp_path_factory.mktemp("cuda"), shared)
