"""Real compilers of device code, where there are some: no GPU is needed to build for one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def nvcc() -> Path:
    """GPUDX_NVCC, else nvcc of PATH, of the toolkit's folder, or of wheels (nvidia-cuda-nvcc, -crt, -runtime, -cccl, nvidia-nvvm)."""
    wheels = [hit for folder in sys.path for hit in sorted(Path(folder).glob("nvidia/cu*/bin/nvcc"))]
    named = [os.environ.get("GPUDX_NVCC"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", *wheels]
    for one in filter(None, named):
        if os.access(one, os.X_OK):
            return Path(one)
    pytest.skip("needs nvcc: GPUDX_NVCC, PATH, or the wheels nvidia-cuda-nvcc and nvidia-cuda-runtime")


def hipcc() -> Path:
    """hipcc of PATH."""
    found = shutil.which("hipcc")
    if found is None:
        pytest.skip("needs hipcc in PATH")
    return Path(found)
