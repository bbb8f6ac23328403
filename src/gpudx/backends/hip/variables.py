"""Environment variables that change what HIP programs do: name -> (meaning, where that is said)."""

from __future__ import annotations

HIP = "HIP documentation, Environment variables"
ROCR = "ROCm documentation, ROCR environment variables"

VARIABLES = {
    "HIP_VISIBLE_DEVICES": ("only these devices are seen, and they are numbered anew", HIP),
    "ROCR_VISIBLE_DEVICES": (
        "only these devices are seen by anything above the ROCm runtime, and they are numbered anew",
        ROCR,
    ),
    "GPU_DEVICE_ORDINAL": ("only these devices are seen", HIP),
    "HSA_OVERRIDE_GFX_VERSION": (
        "the device passes for another architecture: code that was not built for it is run",
        ROCR,
    ),
    "HSA_ENABLE_SDMA": ("with 0 copies are made by kernels, not by the copy engines", ROCR),
    "HSA_XNACK": (
        "whether the device may fault pages in: with 1 some invalid accesses are served instead of told",
        ROCR,
    ),
    "HSA_NO_SCRATCH_RECLAIM": ("scratch memory is kept between launches", ROCR),
    "AMD_SERIALIZE_KERNEL": ("the host waits before (1), after (2) or around (3) each launch: races may hide", HIP),
    "AMD_SERIALIZE_COPY": ("the host waits before (1), after (2) or around (3) each copy: races may hide", HIP),
    "HIP_LAUNCH_BLOCKING": (
        "each launch waits for its end: errors are reported by other calls than without it, and races may hide",
        HIP,
    ),
    "HIP_FORCE_DEV_KERNARG": ("where kernel arguments lie", HIP),
    "GPU_MAX_HW_QUEUES": ("how many queues of the device streams share: with few, streams wait for each other", HIP),
    "AMD_LOG_LEVEL": ("the runtime writes a log, which slows each call", HIP),
    "PYTORCH_HIP_ALLOC_CONF": (
        "how PyTorch's pool divides memory, or which allocator it has",
        "PyTorch documentation, HIP semantics",
    ),
    "PYTORCH_ROCM_ARCH": ("for which architectures extensions are built", "PyTorch documentation"),
}
