"""Where the native parts are: the recorder library, and what is generated beside it."""

from __future__ import annotations

import os
from pathlib import Path

from gpudx.errors import UserError

VARIABLE = "GPUDX_LIB"
PACKAGED = Path(__file__).resolve().parent / "_native"
IN_SOURCE_TREE = Path(__file__).resolve().parents[2] / "build/native"  # tools/test builds there


def shared_files(pid: int | str) -> list[Path]:
    """Files in shared memory that the recorder in a process has, or left there (native/core/crumbs.c)."""
    return sorted(Path("/dev/shm").glob(f"gpudx-{pid}-*"))


def library() -> Path:
    """The recorder, libgpudx.so: what GPUDX_LIB names, else the one in the package. An absolute path.

    Raises UserError when there is none, or when its path cannot be written into LD_PRELOAD: the dynamic loader
    splits that variable at spaces and colons and knows no way to quote them.
    """
    named = os.environ.get(VARIABLE)
    path = Path(named).absolute() if named else _folder() / "libgpudx.so"
    if not path.is_file():
        raise UserError(_missing(path, bool(named)), exit_code=2)
    if any(char in str(path) for char in " :\t\n"):
        raise UserError(f"The path {path} has a space or colon in it: copy the library elsewhere and set {VARIABLE}.")
    return path


def data(name: str) -> Path | None:
    """A generated file or folder of the package ("schema.json", "include"), or None where it is not installed."""
    path = _folder() / name
    return path if path.exists() else None


def _folder() -> Path:
    """The package's own, or the build of the source tree that this module is in."""
    return PACKAGED if PACKAGED.is_dir() or not IN_SOURCE_TREE.is_dir() else IN_SOURCE_TREE


def _missing(path: Path, named: bool) -> str:
    if named:
        return f"{VARIABLE} names {path}, which is not a file: correct or unset {VARIABLE}."
    return f"The recorder {path} is missing: reinstall gpudx, or set {VARIABLE} to a libgpudx.so you built."
