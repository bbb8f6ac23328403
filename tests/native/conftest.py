"""One Kit for all tests of the native part: everything is compiled once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from native_kit import Kit


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Kit:
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc) here")
    return Kit(tmp_path_factory.mktemp("native"), shared)
