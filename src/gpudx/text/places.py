"""Paths: which source files are the user's own, and how paths look from the working directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

# Headers of the system, of compilers and of toolkits, installed packages, stubs that nvcc writes, and OpenCL's C++ bindings wherever a
# project keeps its copy: a line there says what was called, not what called it.
INSTALLED = re.compile(
    r"/usr/(?!local/|src/)|/usr/local/(?:include|cuda)|/opt/(?:rocm|cuda|intel)"
    r"|.*/include/c\+\+/|.*/(?:site|dist)-packages/|.*/CL/(?:cl|cl2|opencl)\.hpp\b"
    r"|.*/(?:cuda|rocm|hip)(?:-?\d[\d.]*)?/(?:bin/\.\./)?(?:targets/[^/]+/)?include/|.*/nvidia/(?:[^/]+/include|hpc_sdk)/|.*/lib(?:64)?/clang/[^/]+/include/"
)


# By name, where a compiler wrote nothing else: headers that nvcc inlines from, and loops of libstdc++ over the user's data.
NAMES = re.compile(
    r"(?:^|/)(?:device_\w+|cuda_(?:fp|bf)\w+|sm_\d+_\w+|math_functions|\w*cooperative_groups\w*|mma|pipeline|"
    r"stl_(?:algo|algobase|numeric|vector|construct|uninitialized|iterator))\.h(?:pp)?(?::|$)|(?:^|/)tmpxft_[^/]*(?::|$)"
)


def is_installed(path: str) -> bool:
    """Is it a file that came with something, not one of the program? `path` may end with ":line"."""
    return INSTALLED.match(path) is not None or NAMES.search(path) is not None


def first_own(sources: Iterable[str]) -> str | None:
    """Of the lines of a chain of inlined functions or callers, innermost first: the first that is the program's own, else the first."""
    known = [one for one in sources if one]
    return next((one for one in known if not is_installed(one)), known[0] if known else None)


MOST_UP = 2  # folders


def shortest(path: str | os.PathLike[str]) -> str:
    """From the working directory, or from the root where that is shorter or the way leads far up."""
    near, whole = os.path.relpath(path), os.path.abspath(path)
    return whole if near.split(os.sep).count("..") > MOST_UP or len(whole) < len(near) else near


def here(text: str) -> str:
    """Paths below the working directory, as seen from there."""
    return text.replace(os.getcwd() + os.sep, "")
