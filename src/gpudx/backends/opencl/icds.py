"""The drivers that are registered with the OpenCL loader, and those of them that cannot be found.

cl_khr_icd: each file *.icd in /etc/OpenCL/vendors names a library; OCL_ICD_VENDORS names another folder, an .icd file, or, with
ocl-icd, a library.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

VENDORS = "/etc/OpenCL/vendors"
NEWEST_AMD = 25  # the family of Zen 3 and 4


def wheel_compiles(processor: str = "") -> bool:
    """Can the PoCL 3.0 of the pyopencl wheel compile for this processor? LLVM 14 inside it calls AMD's later families "generic"
    (llvm/lib/Support/Host.cpp, getAMDProcessorTypeAndSubtype), which clang takes for no CPU: every build fails with
    "unknown target CPU 'generic'"."""
    family = re.search(r"vendor_id\s*: AuthenticAMD\ncpu family\s*: (\d+)", processor or _processor())
    return family is None or int(family[1]) <= NEWEST_AMD


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return file.read(512)  # the first processor
    except OSError:
        return ""


def of_packages() -> tuple[dict[str, str], ...]:
    """Drivers for the processor that came with Python packages, as the environment in which a loader takes each."""
    found = [{"OCL_ICD_VENDORS": str(driver)} for driver in _of_wheel()[:1] if wheel_compiles()]
    intel = Path(sys.prefix) / "lib/libintelocl.so"  # finds its own parts by LD_LIBRARY_PATH only
    if intel.is_file():
        places = [str(intel.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        found.append({"OCL_ICD_VENDORS": str(intel), "LD_LIBRARY_PATH": os.pathsep.join(places)})
    return tuple(found)


def runs_without_kernels() -> bool:
    """Has pyopencl a driver of its own? It takes it unless it is told otherwise, and may not be able to compile with it."""
    return bool(_of_wheel()) and not os.environ.get("OCL_ICD_VENDORS")


def _of_wheel() -> list[Path]:
    spec = importlib.util.find_spec("pyopencl")
    return sorted((Path(spec.origin).parent / ".libs").glob("libpocl*.so*")) if spec and spec.origin else []


def drivers(base: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """(library, problem) of each; the problem is "" where none is seen."""
    place = Path(base.get("OCL_ICD_VENDORS") or VENDORS)
    if ".so" in place.name:
        return ((str(place), _problem(str(place), "OCL_ICD_VENDORS")),)
    if base.get("OCL_ICD_VENDORS") and not place.exists():
        return ((str(place), f"OCL_ICD_VENDORS names {place}, which does not exist"),)
    files = [place] if place.suffix == ".icd" else sorted(place.glob("*.icd"))
    return tuple(map(_registered, files))


def no_driver(base: Mapping[str, str]) -> str:
    """What is wrong where `drivers` has none."""
    return f"no OpenCL driver is registered in {base.get('OCL_ICD_VENDORS') or VENDORS}"


def _registered(file: Path) -> tuple[str, str]:
    try:
        library = file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return str(file), f"{file} cannot be read ({error.strerror})"
    return library, _problem(library, str(file))


def _problem(library: str, said_by: str) -> str:
    """Only what is sure: a path that does not exist. A bare name is looked up by the loader in places of its own."""
    if "/" not in library or os.path.exists(library):
        return ""
    return f"{said_by} names the driver {library}, which is not there"
