"""CUDA: what is looked for on this machine. The recorder does not enter CUDA programs yet."""

from __future__ import annotations

from pathlib import Path

from gpudx.backends.tool import Tool

HERE = Path(__file__).resolve().parent
TOOLKIT = ("/usr/local/cuda*/bin", "/opt/cuda/bin")

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
        "maps addresses to source lines",
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
