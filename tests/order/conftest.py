"""One stage for all tests of order: programs are compiled once, and each of their modes is played once."""

from __future__ import annotations

from pathlib import Path

import pytest
from order_kit import Kit, Stage, make_stage
from support.opencl import OpenCL


@pytest.fixture(scope="session")
def kit(opencl: OpenCL, tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Kit:
    """CUDA on the fake driver."""
    kit = Kit(tmp_path_factory.mktemp("order"), shared)
    kit.recorder = opencl.recorder  # CUDA and OpenCL are recorded by the same library
    return kit


@pytest.fixture(scope="session")
def stage(opencl: OpenCL, kit: Kit) -> Stage:
    return make_stage(kit, opencl)
