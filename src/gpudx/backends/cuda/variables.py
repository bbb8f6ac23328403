"""Environment variables that change what CUDA programs do: name -> (meaning, where that is said)."""

from __future__ import annotations

GUIDE = "CUDA C++ Programming Guide, CUDA Environment Variables"
TORCH = "PyTorch documentation, CUDA Environment Variables"
TOOLS = "PyTorch documentation, CUDA semantics"

VARIABLES = {
    "CUDA_LAUNCH_BLOCKING": (
        "each launch waits for its end: errors are reported by other calls than without it, and races may hide",
        GUIDE,
    ),
    "CUDA_VISIBLE_DEVICES": ("only these devices are seen, and they are numbered anew", GUIDE),
    "CUDA_DEVICE_ORDER": ("the order in which devices are numbered", GUIDE),
    "CUDA_MODULE_LOADING": ("with EAGER all device code is loaded at the start, else when it is first used", GUIDE),
    "CUDA_MODULE_DATA_LOADING": ("when data of device code is loaded", GUIDE),
    "CUDA_FORCE_PTX_JIT": (
        "compiled device code is ignored and all PTX compiled at load: what runs is not what was built",
        GUIDE,
    ),
    "CUDA_DISABLE_PTX_JIT": ("PTX is never compiled: only code for this very device runs", GUIDE),
    "CUDA_CACHE_DISABLE": ("PTX is compiled again in each run", GUIDE),
    "CUDA_CACHE_PATH": ("where code that was compiled from PTX is kept", GUIDE),
    "CUDA_DEVICE_MAX_CONNECTIONS": (
        "how many queues of the device streams share: with few, streams wait for each other",
        GUIDE,
    ),
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC": ("managed memory lies on the device", GUIDE),
    "CUDA_MPS_PIPE_DIRECTORY": (
        "the process may share the device through MPS: a fault of another client ends it too",
        "NVIDIA MPS documentation",
    ),
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": ("only a part of the device is used", "NVIDIA MPS documentation"),
    "CUDA_INJECTION64_PATH": ("a tool's library is loaded into every CUDA program", "CUPTI documentation"),
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": (
        "a fault writes a core dump of the device, which takes time",
        "CUDA-GDB documentation, GPU Core Dump Support",
    ),
    "NVIDIA_TF32_OVERRIDE": ("with 0 no library uses TF32: numbers differ", "cuBLAS documentation"),
    "CUBLAS_WORKSPACE_CONFIG": (
        "decides whether cuBLAS gives the same result in every run",
        "cuBLAS documentation, Results reproducibility",
    ),
    "PYTORCH_CUDA_ALLOC_CONF": ("how PyTorch's pool divides memory, or which allocator it has", TOOLS),
    "PYTORCH_ALLOC_CONF": ("how PyTorch's pool divides memory, or which allocator it has", TOOLS),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": (
        "PyTorch asks the driver for each allocation: slower, and addresses differ",
        TORCH,
    ),
    "TORCH_USE_CUDA_DSA": ("assertions in PyTorch's kernels are told, if it was built with them", TORCH),
    "TORCH_CUDA_ARCH_LIST": (
        "for which architectures extensions are built",
        "PyTorch documentation, torch.utils.cpp_extension",
    ),
    "XLA_FLAGS": ("settings of XLA's compiler and runtime", "XLA documentation"),
    "TRITON_INTERPRET": ("Triton kernels run in Python, not on the device", "Triton documentation, Debugging Triton"),
    "NCCL_P2P_DISABLE": ("devices do not exchange data directly", "NCCL documentation, Environment Variables"),
    "NCCL_LAUNCH_MODE": ("how collective kernels are launched", "NCCL documentation, Environment Variables"),
}
