"""Whose file is it? The user's own, or one of the system, a package, an interpreter or a toolkit, which nobody here has built."""

from __future__ import annotations

import re

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


def is_own(path: str) -> bool:
    """May the user have built it? Said of a file's real path."""
    return not path.startswith(SYSTEM) and not is_package(path) and not PYTHON.search(path)


def is_package(path: str) -> bool:
    """Does it belong to a package that somebody installed?"""
    return any(part in path for part in PACKAGES)
