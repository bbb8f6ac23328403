"""Other programs that have a GPU open: seen from outside, by the device files that they hold."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from gpudx import backends

MOST = 8
STUDY = "GPUDX_STUDY"  # says of a process which study it was started for; other runs of the same study are no strangers


def strangers(own: Collection[int] = ()) -> tuple[str, ...]:
    """Their names and process numbers. Processes that may not be looked at are not seen, so that none is no proof."""
    return tuple(sorted(_holders(set(own) | {os.getpid()})))[:MOST]


def _holders(own: set[int]) -> Iterator[str]:
    files, study = backends.device_files(), os.environ.get(STUDY)
    mark = f"{STUDY}={study}".encode() if study else None
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal() or int(entry.name) in own:
            continue
        if _holds(entry.path, files) and not (mark and _was_given(entry.path, mark)):
            yield f"{_name(entry.path)} ({entry.name})"


def _holds(place: str, files: tuple[str, ...]) -> bool:
    try:
        return any(os.readlink(link.path).startswith(files) for link in os.scandir(f"{place}/fd"))
    except OSError:
        return False


def _was_given(place: str, variable: bytes) -> bool:
    try:
        return variable in Path(f"{place}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _name(place: str) -> str:
    try:
        return Path(f"{place}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a process"
