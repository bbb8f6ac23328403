"""Which OpenCL loaders are here, and do they take layers? Run as a program of its own by `gpudx doctor`."""

from __future__ import annotations

import glob
import importlib.util
import os
import sys
from pathlib import Path

from gpudx.backends.opencl.entry import LOADER, SYSTEM, takes_layers


def loaders() -> list[str]:
    """The files, each once, by their real names."""
    places = [*SYSTEM, *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    patterns = [f"{place}/{LOADER}" for place in places]
    spec = importlib.util.find_spec("pyopencl")
    if spec is not None and spec.origin is not None:
        patterns.append(os.path.dirname(spec.origin) + "/.libs/libOpenCL*.so*")
    found = [os.path.realpath(path) for pattern in patterns for path in sorted(glob.glob(pattern))]
    return list(dict.fromkeys(found))


def main() -> int:
    """Print what was found; 3: nothing."""
    found = loaders()
    for path in found:
        print(path, "supports layers" if takes_layers(Path(path)) else "does not support layers: calls are recorded by symbol only")
    return 0 if found else 3


if __name__ == "__main__":
    sys.exit(main())
