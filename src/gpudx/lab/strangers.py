"""Other programs that have a GPU open: seen from outside, by the device files that they hold."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from gpudx import backends

MOST = 8


def strangers(own: Collection[int] = ()) -> tuple[str, ...]:
    """Their names and process numbers. Processes that may not be looked at are not seen, so that none is no proof."""
    return tuple(sorted(_holders(set(own) | {os.getpid()})))[:MOST]


def _holders(own: set[int]) -> Iterator[str]:
    files = backends.device_files()
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and int(entry.name) not in own and _holds(entry.path, files):
            yield f"{_name(entry.path)} ({entry.name})"


def _holds(place: str, files: tuple[str, ...]) -> bool:
    try:
        return any(os.readlink(link.path).startswith(files) for link in os.scandir(f"{place}/fd"))
    except OSError:
        return False


def _name(place: str) -> str:
    try:
        return Path(f"{place}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a process"
