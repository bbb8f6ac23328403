"""Real output of NVIDIA's tools, used in place where a folder with it is named in GPUDX_EVIDENCE_SAMPLES."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def sample() -> Callable[[str], Path]:
    """Finds a sample file by name in the folders of GPUDX_EVIDENCE_SAMPLES, else skips the test."""

    def find(name: str) -> Path:
        folders = os.environ.get("GPUDX_EVIDENCE_SAMPLES", "").split(os.pathsep)
        for folder in filter(None, folders):
            if (Path(folder) / name).is_file():
                return Path(folder) / name
        pytest.skip(f"needs {name}, made on a GPU, in a folder of GPUDX_EVIDENCE_SAMPLES")

    return find
