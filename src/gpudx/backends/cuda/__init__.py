"""CUDA: the recorder gets in by being preloaded (docs/decisions/004-cuda-way-in.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from gpudx import native
from gpudx.backends.cuda.dumps import settings, snapshot
from gpudx.backends.cuda.pools import POOLS, UNPOOLED
from gpudx.backends.cuda.variables import EMPTY_COUNTS, VARIABLES
from gpudx.backends.tool import Tool

__all__ = [
    "DEVICE_CODE",
    "DEVICE_FILES",
    "EMPTY_COUNTS",
    "EXPERIMENTS",
    "LIBRARIES",
    "POOLS",
    "TEXT_READABLE",
    "TOOLS",
    "UNPOOLED",
    "VARIABLES",
    "environment",
    "error_name",
    "error_names",
    "other_device",
    "settings",
    "snapshot",
]

HERE = Path(__file__).resolve().parent
LIBRARIES = (
    "libcuda.so",
    "libcudart",
    "libcublas.so",
    "libcublas-",
    "libcudnn.so",
    "libcudnn-",
    "libnvrtc.so",
    "libnvrtc-",
    "libnccl",
)
PREFIXES = (
    "CUDA_",
    "NVIDIA_",
    "CUBLAS_",
    "CUDNN_",
    "NCCL_",
    "CUPY_",
    "PYTORCH_",
    "TORCH_",
    "TRITON_",
    "XLA_",
    "TF_XLA",
    "TF_GPU",
)
DEVICE_FILES = ("/dev/nvidia",)
EXPERIMENTS = {"blocking": {"CUDA_LAUNCH_BLOCKING": "1"}}  # CUDA programming guide, "CUDA environment variables"
TOOLKIT = ("/usr/local/cuda*/bin", "/opt/cuda/bin")


def environment(lib: Path) -> dict[str, str]:
    """Nothing: preloading is all it takes."""
    return {}


def other_device(base: Mapping[str, str], devices: frozenset[str]) -> dict[str, str]:
    """The next GPU first, where there are several (CUDA programming guide, "CUDA environment variables")."""
    every = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    seen = base.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(every)))).split(",")
    return {"CUDA_VISIBLE_DEVICES": ",".join(seen[1:] + seen[:1])} if len(seen) > 1 else {}


@cache
def error_names() -> dict[int, str]:
    """CUresult values and their names, as schema/cuda.toml has them; empty where the package is not installed."""
    described = native.data("schema.json")
    if described is None:
        return {}
    names: dict[str, int] = json.loads(described.read_text())["errors"].get("cuda", {})
    return {value: name for name, value in names.items()}


def error_name(status: int) -> str:
    """The name of a CUresult, for what is read outside of traces (which carry the names themselves)."""
    return error_names().get(status, f"CUDA error {status}")


def _listed(read: Callable[[int, int], bytes]) -> tuple[str, ...]:
    # Not imported at the top: it brings numpy, whose threads would take signals that are meant for the program.
    from gpudx.backends.cuda.images import listed

    return listed(read)


def _readable(read: Callable[[int, int], bytes]) -> bool:
    from gpudx.backends.cuda.images import readable

    return readable(read)


DEVICE_CODE = {".nv_fatbin": _listed}
TEXT_READABLE = {".nv_fatbin": _readable}

TOOLS = (
    Tool("NVIDIA driver", "runs CUDA programs", "see docs.nvidia.com/datacenter", probe=HERE / "probe_driver.py"),
    Tool(
        "compute-sanitizer",
        "checks memory accesses on the device",
        "pip install nvidia-cuda-sanitizer-api",
        programs=("compute-sanitizer",),
        places=(*TOOLKIT, "/usr/local/cuda*/compute-sanitizer"),
        wheel=("nvidia/*/bin/compute-sanitizer", "nvidia/*/compute-sanitizer/compute-sanitizer"),
    ),
    Tool(
        "cuda-gdb",
        "reads device core dumps",
        "part of the CUDA toolkit: apt install cuda-gdb",
        programs=("cuda-gdb",),
        places=TOOLKIT,
    ),
    Tool(
        "nvdisasm",
        "traces a faulting address back to an argument",
        "pip install nvidia-cuda-nvdisasm",
        programs=("nvdisasm",),
        places=TOOLKIT,
        wheel=("nvidia/*/bin/nvdisasm",),
        pattern=r"(?<=release )\d+\.\d+",
    ),
    Tool(
        "nvcc",
        "builds CUDA programs",
        "part of the CUDA toolkit: apt install nvidia-cuda-toolkit",
        programs=("nvcc",),
        places=TOOLKIT,
        wheel=("nvidia/*/bin/nvcc",),
        pattern=r"(?<=release )\d+\.\d+",
    ),
)
