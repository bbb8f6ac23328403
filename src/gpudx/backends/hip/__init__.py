"""HIP and ROCm: what is looked for on this machine. The recorder does not enter HIP programs yet."""

from __future__ import annotations

from gpudx.backends.hip.variables import VARIABLES
from gpudx.backends.tool import Tool

__all__ = ["DEVICE_FILES", "LIBRARIES", "TOOLS", "VARIABLES"]

LIBRARIES = ("libamdhip64", "libhsa-runtime64", "libhiprtc")
PREFIXES = ("HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_", "GPU_", "MIOPEN_")
DEVICE_FILES = ("/dev/kfd", "/dev/dri/renderD")
ROCM = ("/opt/rocm*/bin",)
INSTALL = "see rocm.docs.amd.com, or apt install hipcc"

TOOLS = (
    Tool("hipcc", "builds HIP programs", INSTALL, programs=("hipcc",), places=ROCM),
    Tool("rocminfo", "lists AMD devices", "apt install rocminfo", programs=("rocminfo",), places=ROCM, version=()),
    Tool("rocgdb", "reads AMD core dumps", "part of ROCm: apt install rocm-gdb", programs=("rocgdb",), places=ROCM),
)
