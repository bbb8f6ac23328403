"""One build of recorder and programs for all tests here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudx.lab.build import Built

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hip_kit import HERE, Kit, need_hipcc

AMD = {"HIP_PLATFORM": "amd"}


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    need_hipcc()
    return Kit(tmp_path_factory.mktemp("hip"))


@pytest.fixture(scope="session")
def by_dlsym(kit: Kit) -> Built:
    program = kit.folder / "modules-by-gcc"
    flags = ["-D__HIP_PLATFORM_AMD__", "-w", "-o", str(program), str(HERE / "programs/modules.cpp"), "-ldl"]
    subprocess.run(["g++", *flags], check=True)
    return Built(
        program, kit.hip_program("tour").environment | {"GPUDX_HIP_SIM_NOOP": "1"}
    )  # its addresses are made up


@pytest.fixture(scope="session")
def code_object(kit: Kit) -> Path:
    path = kit.folder / "tour.co"
    words = ["hipcc", "--genco", "--offload-arch=gfx90a", "-o", str(path), str(HERE / "programs/tour_kernels.hip")]
    subprocess.run(words, check=True, env=os.environ | AMD, capture_output=True)
    return path
