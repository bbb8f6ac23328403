"""Environment variables that change what CUDA programs do: name -> (meaning, where that is said).

Where each meaning comes from: NVIDIA's guide (docs.nvidia.com/cuda/cuda-programming-guide, 5.2),
NCCL's user guide ("Environment Variables"), PyTorch's pages ("CUDA Environment Variables") and, where no page has it, the
source file that reads it.
"""

from __future__ import annotations

GUIDE = "CUDA Programming Guide, CUDA Environment Variables"
MPS = "NVIDIA Multi-Process Service documentation"
NCCL = "NCCL documentation, Environment Variables"
TORCH = "PyTorch documentation, CUDA Environment Variables"
POOL = "PyTorch documentation, CUDA semantics"

VARIABLES = {
    "CUDA_LAUNCH_BLOCKING": (
        "with 1 the host waits for each launch: errors are reported where they arise, not later, and races may hide",
        GUIDE,
    ),
    "CUDA_VISIBLE_DEVICES": ("only these devices are seen, renumbered in this order; none if it is empty", GUIDE),
    "CUDA_DEVICE_ORDER": ("the order in which devices are numbered: the fastest first, or by bus", GUIDE),
    "CUDA_MODULE_LOADING": ("with EAGER all device code is loaded at once, else when it is first used", GUIDE),
    "CUDA_MODULE_DATA_LOADING": ("the same for the data of device code, whatever CUDA_MODULE_LOADING says", GUIDE),
    "CUDA_FORCE_PTX_JIT": (
        "with 1 compiled device code is ignored and PTX compiled at load: what runs is not what was built",
        GUIDE,
    ),
    "CUDA_DISABLE_PTX_JIT": ("with 1 PTX is never compiled: kernels without fitting machine code do not load", GUIDE),
    "CUDA_CACHE_DISABLE": ("with 1 PTX is compiled again in each run", GUIDE),
    "CUDA_CACHE_PATH": ("where code that was compiled from PTX is kept", GUIDE),
    "CUDA_DEVICE_MAX_CONNECTIONS": (
        "how many work queues of the device streams share: streams in one queue may wait for each other",
        GUIDE,
    ),
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC": ("unless it is 0, managed memory is kept on the device", GUIDE),
    "CUDA_DEVICE_WAITS_ON_EXCEPTION": ("with 1 a device fault halts the program until a debugger attaches", GUIDE),
    "CUDA_LOG_FILE": ("where the driver logs why calls failed", GUIDE),
    "CUDA_MPS_PIPE_DIRECTORY": ("the process may share the device through MPS: another process's fault may end it", MPS),
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": ("at most this part of the device is used", MPS),
    "CUDA_INJECTION64_PATH": ("a tool's library is loaded into every CUDA program", "CUPTI samples, injection"),
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": (
        "with 1 a fault writes a core dump of the device",
        "CUDA-GDB documentation, GPU Core Dump Support",
    ),
    "NVIDIA_TF32_OVERRIDE": ("with 0 no kernel uses TF32, whatever the program asks for: numbers differ", TORCH),
    "CUBLAS_WORKSPACE_CONFIG": (
        "the workspaces of cuBLAS; they decide whether results are reproducible",
        "cuBLAS documentation, Results reproducibility",
    ),
    "PYTORCH_CUDA_ALLOC_CONF": ("how PyTorch's pool divides memory, or which allocator it has", POOL),
    "PYTORCH_ALLOC_CONF": ("how PyTorch's pool divides memory, or which allocator it has", POOL),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": ("PyTorch uses no pool: each allocation goes to the driver", TORCH),
    "PYTORCH_USE_CUDA_DSA": (
        "assertions in PyTorch's kernels are reported, if it was built with TORCH_USE_CUDA_DSA",
        "PyTorch, c10/cuda/CUDADeviceAssertionHost.cpp",
    ),
    "TORCH_CUDA_ARCH_LIST": (
        "for which architectures extensions are built",
        "PyTorch documentation, torch.utils.cpp_extension",
    ),
    "XLA_FLAGS": ("settings of XLA's compiler and runtime", "JAX documentation, XLA compiler flags"),
    "TRITON_INTERPRET": (
        "with 1 Triton's kernels are simulated on the processor, one program after the other",
        "Triton documentation, Debugging Triton",
    ),
    "NCCL_P2P_DISABLE": ("with 1 devices do not exchange data directly", NCCL),
    "NCCL_LAUNCH_MODE": ("how collective kernels are launched: in parallel, or as a cooperative group", NCCL),
}
EMPTY_COUNTS = ("CUDA_VISIBLE_DEVICES",)
