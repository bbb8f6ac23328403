"""Which OpenCL loaders are here, and do they take layers? Run as a program of its own by `gpudx doctor`."""

from __future__ import annotations

import glob
import importlib.util
import os
import sys

SYSTEM = (
    "/usr/lib/*/libOpenCL.so.1",
    "/usr/lib/libOpenCL.so.1",
    "/usr/lib64/libOpenCL.so.1",
    "/usr/local/lib/libOpenCL.so.1",
    "/usr/local/cuda/lib64/libOpenCL.so.1",
    "/opt/rocm/lib/libOpenCL.so.1",
    "/opt/intel/oneapi/compiler/latest/lib/libOpenCL.so.1",
)


def loaders() -> list[str]:
    """The files, each once, by their real names."""
    patterns = [*SYSTEM, *(f"{place}/libOpenCL.so.1" for place in os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    spec = importlib.util.find_spec("pyopencl")
    if spec is not None and spec.origin is not None:
        patterns.append(os.path.dirname(spec.origin) + "/.libs/libOpenCL*.so*")
    found = [os.path.realpath(path) for pattern in patterns for path in sorted(glob.glob(pattern))]
    return list(dict.fromkeys(found))


def takes_layers(path: str) -> bool:
    """A loader that knows layers reads this variable."""
    with open(path, "rb") as file:
        return b"OPENCL_LAYERS" in file.read()


def main() -> int:
    """Print what was found; 3: nothing."""
    found = loaders()
    for path in found:
        print(path, "takes layers" if takes_layers(path) else "takes no layers: calls are caught by symbol only")
    return 0 if found else 3


if __name__ == "__main__":
    sys.exit(main())
