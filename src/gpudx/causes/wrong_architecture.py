"""The program has no device code that this device can run."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="wrong-architecture",
    title="The program has no device code that this device can run",
    refutes_if="The image would hold code for the device's architecture, or PTX of one that is not newer.",
    fix=(
        "Build for the device named: with nvcc -gencode arch=compute_XY,code=sm_XY, with CMake CMAKE_CUDA_ARCHITECTURES.",
        "For AMD devices: with hipcc --offload-arch=gfxNNN, with CMake CMAKE_HIP_ARCHITECTURES; `gpudx audit` shows what a file has.",
        "Keep PTX for devices to come: -gencode arch=compute_XY,code=compute_XY.",
    ),
    predicts=(("recorded", "loading the code, or its first kernel, fails on this device"),),
    settled_by="a run of a build for the device's architecture",
    kind=FIXED,
)
