"""OpenCL: the recorder comes in as a layer of the ICD loader."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from gpudx.backends.opencl import entry
from gpudx.backends.opencl.icds import drivers, no_driver, of_packages, runs_without_kernels, wheel_compiles
from gpudx.backends.opencl.variables import VARIABLES
from gpudx.backends.tool import Bundled, Linking, Tool
from gpudx.kernel_checks.errors import INSTALL

__all__ = ["LIBRARIES", "LINKING", "TOOLS", "VARIABLES", "drivers", "environment", "library", "no_driver", "other_device"]

HERE = Path(__file__).resolve().parent
LIBRARIES = ("libOpenCL",)
COUNTS_REFERENCES = True
COMPILED = r"/[A-P]{2}/[A-P]{30,}/.*\.so$"  # PoCL's cache: a hash in letters, the kernel, its work-group size
PREFIXES = ("CL_", "OCL_", "OPENCL_", "POCL_", "PYOPENCL_")
PIP_DEVICE = (
    'pip install "pyopencl[pocl]" (loader and processor device, no root needed)'
    if wheel_compiles()
    else "pip install pyopencl intel-opencl-rt intel-cmplr-lib-rt (loader and processor device, no root needed)"
)


def environment(lib: Path) -> dict[str, str]:
    """The loader takes the recorder as a layer, unless it was built to come in by symbols. ocl-icd 2.3.1 hands only the
    first of the list to children."""
    return {} if lib.name == entry.BY_SYMBOLS else {"OPENCL_LAYERS": str(lib)}


def library(lib: Path, program: Path, base: Mapping[str, str]) -> Path:
    """The build with OpenCL symbols where the program's loader knows no layers; GPUDX_OPENCL overrides."""
    return entry.library_for(lib, program, base, base.get(entry.VARIABLE, "auto"))


def bundled_loader() -> Bundled | None:
    """The loader inside the pyopencl wheel, with the processor device of a Python package, else with the system's drivers.

    The loader crashes without PYOPENCL_HOME (seen with pyopencl 2026.1). The wheel's own .icd file names its driver
    without a folder, which only works for a program that is linked with an old-style RPATH; OCL_ICD_VENDORS takes the
    driver itself by its whole path.
    """
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    loaders, devices = sorted((home / ".libs").glob("libOpenCL*.so*")), of_packages()
    if not loaders or not (devices or system_has_driver()):
        return None
    return Bundled(loaders[0], {"PYOPENCL_HOME": str(home), **(devices[0] if devices else {})})


def system_has_driver() -> bool:
    """Is a driver registered with the system's loader? It may still fail to load; only running it shows that."""
    return any(not problem for _, problem in drivers(os.environ))


def other_device(base: Mapping[str, str], devices: frozenset[str]) -> dict[str, str]:
    """PoCL's device without threads, for programs on its usual one (PoCL manual, "Tunable environment variables").

    It is another device of the same driver: what the two share, they fail in alike.
    """
    threaded = any(name.startswith(("pthread", "cpu")) for name in devices)
    return {"POCL_DEVICES": "basic"} if threaded and "POCL_DEVICES" not in base else {}


LINKING = Linking(
    library="OpenCL",
    header="CL/cl.h",
    ready=system_has_driver,
    bundled=bundled_loader,
    runs_without_kernels=runs_without_kernels,
    install=PIP_DEVICE,
)

TOOLS = (
    Tool("OpenCL loader", "the recorder is a layer of it", PIP_DEVICE, probe=HERE / "probe_loaders.py"),
    Tool("OpenCL devices", "runs OpenCL programs", PIP_DEVICE, probe=HERE / "probe_devices.py"),
    Tool("kernel checks", "find the faulty line inside OpenCL kernels", INSTALL, probe=HERE / "probe_libclang.py"),
    Tool("oclgrind", "checks every memory access of a kernel", "apt install oclgrind", programs=("oclgrind",)),
    Tool("clinfo", "shows what a driver supports", "apt install clinfo", programs=("clinfo",)),
    Tool("clpeak", "measures a device", "apt install clpeak", programs=("clpeak",), pattern=r"\d+\.\d+[\d.]*"),
)
