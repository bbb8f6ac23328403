"""The source around the guilty line, if the file can be read when the report is made.

A case may come from somebody else, and its report may go to others: only files that look like sources are quoted.
"""

from __future__ import annotations

import os
import stat
from datetime import datetime
from pathlib import Path

from gpudx.errors import UserError
from gpudx.figures import kernel_text
from gpudx.model import Case
from gpudx.model.drawing import Excerpt
from gpudx.report import source_line

AROUND = 5
MOST_BYTES = 4_000_000
SUFFIXES = frozenset(
    ".c .cc .cpp .cxx .c++ .cu .cuh .cl .clh .h .hh .hpp .hxx .hip .inc .inl .py .pyx .rs .jl .f90".split()
)


def of(case: Case) -> Excerpt | None:
    """The lines around the one that the first screen shows, else the guilty or the victim's call; None where no file has them."""
    best = case.diagnosis[0] if case.diagnosis else None
    if best is None:
        return None
    shown = source_line.of(case, best)
    places = [
        f"{shown.path}:{shown.line}" if shown and shown.path else None,
        best.guilty.source if best.guilty else None,
        best.victim.site.source if best.victim and best.victim.site else None,
    ]
    found = (_excerpt(place, case.created) for place in places if place)
    return next((one for one in found if one is not None), None)


def of_kernel(case: Case) -> Excerpt | None:
    """The lines around the access inside the kernel: of a file, or of the text that the program gave the driver."""
    best = case.diagnosis[0] if case.diagnosis else None
    access = best.access if best else None
    if best is None or access is None or not access.source:
        return None
    if (found := _excerpt(access.source, case.created)) is not None:
        return found
    kernel = access.kernel or (best.guilty.kernel if best.guilty else "") or ""
    inside = source_line.line_of_kernel_text(access.source)
    if inside is None or not kernel:
        return None
    name, line = inside
    lines = _text_of(case, kernel)
    if not 0 < line <= len(lines):
        return None
    first = max(line - AROUND, 1)
    place = f"{name}:{line}" if name else f"Line {line} of the kernel source"
    return Excerpt(f"{place}, kernel {kernel}", first, line, tuple(lines[first - 1 : line + AROUND]))


def _text_of(case: Case, kernel: str) -> list[str]:
    """A case may have lost its traces."""
    try:
        return kernel_text.of(case, kernel)
    except (UserError, OSError, ValueError):
        return []


def _excerpt(place: str, created: str) -> Excerpt | None:
    path, _, number = place.rpartition(":")
    if not number.isascii() or not number.isdigit() or not os.path.isabs(path) or Path(path).suffix not in SUFFIXES:
        return None
    read = _read(path)
    if read is None:
        return None
    lines, written = read
    line = int(number)
    if not 0 < line <= len(lines):
        return None
    first = max(line - AROUND, 1)
    return Excerpt(place, first, line, tuple(lines[first - 1 : line + AROUND]), _after(written, created))


def _read(path: str) -> tuple[list[str], float] | None:
    """The lines of a plain file, and when it was written. It may be a pipe or a device: these are not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
            return None
        return file.read().decode("utf-8", "replace").expandtabs(4).split("\n"), about.st_mtime


def _after(written: float, created: str) -> bool:
    try:
        return written > datetime.fromisoformat(created).timestamp()
    except ValueError:
        return False
