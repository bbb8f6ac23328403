"""OpenCL: the recorder comes in as a layer of the ICD loader."""

from __future__ import annotations

from pathlib import Path


def environment(lib: Path) -> dict[str, str]:
    """The loader takes the recorder as a layer. ocl-icd 2.3.1 hands only the first of the list to children."""
    return {"OPENCL_LAYERS": str(lib)}
