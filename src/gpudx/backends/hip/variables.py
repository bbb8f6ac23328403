"""Environment variables that change what HIP programs do: name -> (meaning, where that is said).

Where each meaning comes from: the tables of the HIP and ROCR documentation (rocm.docs.amd.com,
"HIP environment variables", ROCR "Environment variables") and, where these are silent, the source file that reads it.
"""

from __future__ import annotations

HIP = "HIP documentation, HIP environment variables"
ROCR = "ROCR documentation, Environment variables"
POOL = "PyTorch, c10/cuda/CUDAAllocatorConfig.h"

VARIABLES = {
    "HIP_VISIBLE_DEVICES": ("HIP programs see only these devices", HIP),
    "ROCR_VISIBLE_DEVICES": ("all programs above the ROCm runtime see only these devices", ROCR),
    "GPU_DEVICE_ORDINAL": ("HIP and OpenCL programs see only these devices", HIP),
    "HSA_OVERRIDE_GFX_VERSION": (
        "the device is treated as another architecture: it runs code that was not built for it",
        "libhsakmt, topology.c",
    ),
    "HSA_ENABLE_SDMA": ("with 0 copies are not made by the copy engines", ROCR),
    "HSA_XNACK": ("with 1 the device retries an access after a page fault, where it can", ROCR),
    "HSA_NO_SCRATCH_RECLAIM": ("with 1 scratch memory stays with its queue until the process ends", ROCR),
    "AMD_SERIALIZE_KERNEL": ("the host waits before (1), after (2) or around (3) each launch: races may hide", HIP),
    "AMD_SERIALIZE_COPY": ("the host waits before (1), after (2) or around (3) each copy: races may hide", HIP),
    "HIP_LAUNCH_BLOCKING": (
        "with 1 launches are serialised: errors may be reported by other calls than without it, and races may hide",
        HIP,
    ),
    "HIP_FORCE_DEV_KERNARG": ("whether kernel arguments are in device memory", "ROCclr, utils/flags.hpp"),
    "GPU_MAX_HW_QUEUES": ("how many queues of the device streams share: streams in one may wait for each other", HIP),
    "AMD_LOG_LEVEL": ("above 0 the runtime writes a log", HIP),
    "HSA_DISABLE_FRAGMENT_ALLOCATOR": ("with 1 memory is not taken from cached blocks, which hide overruns", ROCR),
    "PYTORCH_HIP_ALLOC_CONF": ("how PyTorch's pool divides memory, or which allocator it has", POOL),
    "PYTORCH_ROCM_ARCH": ("for which architectures extensions are built", "PyTorch, torch/utils/cpp_extension.py"),
}
