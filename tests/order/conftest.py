"""One stage for all tests of order: programs are compiled once, and each of their modes is played once."""

from __future__ import annotations

import pytest
from order_kit import Kit, Stage, make_stage
from support.opencl import OpenCL


@pytest.fixture(scope="session")
def stage(opencl: OpenCL, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return make_stage(opencl, Kit(tmp_path_factory.mktemp("cuda")))
