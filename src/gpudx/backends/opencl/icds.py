"""The drivers that are registered with the OpenCL loader, and those of them that cannot be found.

cl_khr_icd: each file *.icd in /etc/OpenCL/vendors names a library; OCL_ICD_VENDORS names another folder, an .icd file, or, with
ocl-icd, a library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VENDORS = "/etc/OpenCL/vendors"


def drivers(base: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """(library, problem) of each; the problem is "" where none is seen."""
    place = Path(base.get("OCL_ICD_VENDORS") or VENDORS)
    if ".so" in place.name:
        return ((str(place), _problem(str(place), "OCL_ICD_VENDORS")),)
    if base.get("OCL_ICD_VENDORS") and not place.exists():
        return ((str(place), f"OCL_ICD_VENDORS names {place}, which does not exist"),)
    files = [place] if place.suffix == ".icd" else sorted(place.glob("*.icd"))
    return tuple(_registered(file) for file in files)


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
