"""Environment variables that change what OpenCL programs do: name -> (meaning, where that is said)."""

from __future__ import annotations

LOADER = "OpenCL ICD loader, README"
OCL_ICD = "ocl-icd, libOpenCL(7)"
POCL = "PoCL manual, Tunable environment variables"

VARIABLES = {
    "OCL_ICD_VENDORS": ("drivers are taken from there, not from /etc/OpenCL/vendors", LOADER),
    "OCL_ICD_FILENAMES": ("these drivers are loaded as well", LOADER),
    "OPENCL_VENDOR_PATH": ("drivers are taken from there, not from /etc/OpenCL/vendors", OCL_ICD),
    "OPENCL_LAYERS": ("these layers stand between the program and the driver", LOADER),
    "OPENCL_LAYER_PATH": ("layers are taken from there", LOADER),
    "OCL_ICD_DEFAULT_PLATFORM": ("which platform programs get that ask for none", OCL_ICD),
    "POCL_DEVICES": ("which of PoCL's devices there are", POCL),
    "POCL_KERNEL_CACHE": ("with 0 PoCL compiles every kernel in every run", POCL),
    "POCL_CACHE_DIR": ("where PoCL keeps compiled kernels", POCL),
    "POCL_WORK_GROUP_METHOD": ("how PoCL turns work-items into loops: barriers and races show differently", POCL),
    "POCL_MAX_WORK_GROUP_SIZE": ("launches with larger work-groups are refused", POCL),
    "POCL_*": ("a setting of PoCL", POCL),
    "PYOPENCL_CTX": (
        "which platform and device PyOpenCL's choosers take",
        "PyOpenCL documentation, create_some_context",
    ),
    "PYOPENCL_NO_CACHE": ("PyOpenCL compiles every program in every run", "PyOpenCL documentation"),
    "PYOPENCL_COMPILER_OUTPUT": ("PyOpenCL shows what compilers say", "PyOpenCL documentation"),
    "GPU_MAX_ALLOC_PERCENT": (
        "how much of the memory one allocation may take, with AMD's driver",
        "AMD OpenCL Programming Guide",
    ),
}
