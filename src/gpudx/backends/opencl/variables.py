"""Environment variables that change what OpenCL programs do: name -> (meaning, where that is said).

Where each meaning comes from: the README of the Khronos loader ("Table of Debug Environment
Variables"), the manual page of ocl-icd, PoCL's manual, and PyOpenCL 2026.1 itself, whose documentation has none of its variables.
"""

from __future__ import annotations

LOADER = "Khronos OpenCL ICD loader, README"
OCL_ICD = "ocl-icd, libOpenCL(7)"
POCL = "PoCL manual, Tuning pocl behavior with ENV variables"
PYOPENCL = "PyOpenCL, pyopencl/__init__.py"

VARIABLES = {
    "OCL_ICD_VENDORS": ("drivers are taken from there, not from /etc/OpenCL/vendors", LOADER),
    "OCL_ICD_FILENAMES": ("these drivers are loaded as well, before all others", LOADER),
    "OPENCL_VENDOR_PATH": ("drivers are taken from there, not from /etc/OpenCL/vendors", OCL_ICD),
    "OPENCL_LAYERS": ("these layers run between the program and the driver", LOADER),
    "OPENCL_LAYER_PATH": ("layers are taken from there, not from /etc/OpenCL/layers", LOADER),
    "OCL_ICD_DEFAULT_PLATFORM": ("the platform for programs that request none", OCL_ICD),
    "POCL_DEVICES": ("which of PoCL's devices there are", POCL),
    "POCL_KERNEL_CACHE": ("with 0 PoCL keeps no compiled kernels", POCL),
    "POCL_CACHE_DIR": ("where PoCL keeps compiled kernels", POCL),
    "POCL_WORK_GROUP_METHOD": ("how PoCL turns a work-group into one function", POCL),
    "POCL_MAX_WORK_GROUP_SIZE": ("the device reports this as its largest work-group", POCL),
    "POCL_*": ("a setting of PoCL", POCL),
    "PYOPENCL_CTX": ("which platform and device PyOpenCL's choosers take", PYOPENCL),
    "PYOPENCL_BUILD_OPTIONS": ("options that PyOpenCL adds to every build of a program", PYOPENCL),
    "PYOPENCL_NO_CACHE": ("PyOpenCL keeps no compiled programs", PYOPENCL),
    "PYOPENCL_COMPILER_OUTPUT": ("PyOpenCL prints compiler output", PYOPENCL),
    "GPU_MAX_ALLOC_PERCENT": (
        "how much of the memory one allocation may take, with AMD's driver",
        "ROCclr, utils/flags.hpp",
    ),
}
