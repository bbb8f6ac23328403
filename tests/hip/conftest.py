"""One build of recorder and programs for all tests here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hip_kit import Kit, need_hipcc


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Kit:
    need_hipcc()
    return Kit(tmp_path_factory.mktemp("hip"), shared)
