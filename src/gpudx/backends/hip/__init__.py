"""HIP and ROCm: the recorder gets in by being preloaded (docs/decisions/013-hip-way-in.md).

Hooks and code-object metadata were checked against real ROCm headers, libraries and code objects; execution only against
a simulated runtime (tests/hip/sim), not yet on AMD hardware.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudx.backends.hip.agent import settings
from gpudx.backends.hip.images import listed, readable
from gpudx.backends.hip.simulated import simulator
from gpudx.backends.hip.variables import VARIABLES
from gpudx.backends.tool import Linking, Tool

__all__ = [
    "DEVICE_CODE",
    "DEVICE_FILES",
    "EXPERIMENTS",
    "LIBRARIES",
    "LINKING",
    "TEXT_READABLE",
    "TOOLS",
    "VARIABLES",
    "other_device",
    "settings",
]

HERE = Path(__file__).resolve().parent
LIBRARIES = ("libamdhip64", "libhsa-runtime64", "libhiprtc")
PREFIXES = ("HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_", "GPU_", "MIOPEN_")
DEVICE_CODE = {".hip_fatbin": listed}
TEXT_READABLE = {".hip_fatbin": readable}
DEVICE_FILES = ("/dev/kfd", "/dev/dri/renderD")
ROCM = ("/opt/rocm*/bin",)
INSTALL = "see rocm.docs.amd.com, or apt install hipcc"
DEVICE = Path("/dev/kfd")

LINKING = Linking(
    library="amdhip64",
    header="hip/hip_runtime_api.h",
    ready=DEVICE.exists,
    bundled=lambda: None,
    install=INSTALL,
    compiler={"HIP_PLATFORM": "amd"},  # hipcc takes nvcc instead where it finds one
    simulator=simulator,
)


# HIP documentation, "Environment variables" (3: before and after), and ROCR's for the copy engines.
EXPERIMENTS = {
    "amd-serialised": {"AMD_SERIALIZE_KERNEL": "3", "AMD_SERIALIZE_COPY": "3"},
    "blocking": {"HIP_LAUNCH_BLOCKING": "1"},
    "without-sdma": {"HSA_ENABLE_SDMA": "0"},
}


def other_device(base: Mapping[str, str], devices: frozenset[str]) -> dict[str, str]:
    """The next GPU first, where the user named several (HIP documentation, "Environment variables")."""
    seen = base.get("HIP_VISIBLE_DEVICES", "").split(",")
    return {"HIP_VISIBLE_DEVICES": ",".join(seen[1:] + seen[:1])} if len(seen) > 1 else {}


TOOLS = (
    Tool("HIP runtime", "runs HIP programs", INSTALL, probe=HERE / "probe_runtime.py"),
    Tool("hipcc", "builds HIP programs", INSTALL, programs=("hipcc",), places=ROCM),
    Tool("rocminfo", "lists AMD devices", "apt install rocminfo", programs=("rocminfo",), places=ROCM, version=()),
    Tool("ROCm debug agent", "shows the wave that faulted: gpudx run --dump", "apt install rocm-debug-agent", probe=HERE / "agent.py"),
    Tool(
        "llvm-objdump",
        "traces a faulting address back to an argument",
        "part of ROCm: apt install rocm-llvm",
        programs=("llvm-objdump", *(f"llvm-objdump-{version}" for version in range(22, 14, -1))),
        places=("/opt/rocm*/llvm/bin", "/opt/rocm*/lib/llvm/bin"),
    ),
    Tool("rocgdb", "reads AMD core dumps", "part of ROCm: apt install rocm-gdb", programs=("rocgdb",), places=ROCM),
)
