"""One build of recorder and programs for all tests here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpudx.lab.build import Built

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hip_kit import HERE, Kit, need_hipcc


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Kit:
    need_hipcc()
    return Kit(tmp_path_factory.mktemp("hip"), shared)


@pytest.fixture(scope="session")
def by_dlsym(kit: Kit) -> Built:
    flags = ["-D__HIP_PLATFORM_AMD__", "-w", HERE / "programs/modules.cpp", "-ldl"]
    program = kit.built("modules", "g++", *flags)
    return Built(
        program, kit.hip_program("tour").environment | {"GPUDX_HIP_SIM_NOOP": "1"}
    )  # its addresses are made up


@pytest.fixture(scope="session")
def code_object(kit: Kit) -> Path:
    return kit.code_object
