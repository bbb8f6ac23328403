"""Whose file is it? The user's own, or one of the system, a package, an interpreter or a toolkit, which nobody here has built."""

from __future__ import annotations

import os
import re
from functools import lru_cache

SYSTEM = (
    "/usr/",
    "/lib/",
    "/lib32/",
    "/lib64/",
    "/bin/",
    "/sbin/",
    "/opt/",
    "/nix/store/",
    "/snap/",
    "/gnu/store/",
    "/proc/",
)
PACKAGES = (
    "/site-packages/",
    "/dist-packages/",
    "/.cargo/registry/",
    "/.rustup/",
    "/conda-meta/",
    "/node_modules/",
    "/.cache/",
)
# Python's own files, wherever it was installed: version managers keep it below the home folder.
PYTHON = re.compile(r"/python\d+\.\d+$|/libpython(\d+\.\d+)[a-z]*\.so[\d.]*$|/lib/python(\d+\.\d+)[a-z]*/lib-dynload/")


ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")  # in the top folder of a virtual environment, of a conda environment


def is_own(path: str) -> bool:
    """May the user have built it? Said of a file's real path."""
    apart = path.startswith(SYSTEM) or is_package(path) or PYTHON.search(path)
    return not apart and not _in_environment(os.path.dirname(path))


@lru_cache(maxsize=1024)
def _in_environment(folder: str) -> bool:
    """Is it below a folder that pip or conda fills? Their wheels put libraries beside site-packages, too."""
    if any(os.path.exists(os.path.join(folder, name)) for name in ENVIRONMENTS):
        return True
    above = os.path.dirname(folder)
    return above != folder and _in_environment(above)


def is_package(path: str) -> bool:
    """Does it belong to a package that somebody installed?"""
    return any(part in path for part in PACKAGES)
