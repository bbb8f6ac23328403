"""Formats that stand in pasted logs, mixed with anything else. One file each; adding a file adds a format.

A format is a module here with

    a docstring    what writes it, what is read, and what it does not prove (its page, and `gpudx rule FORMAT`)
    FORMAT         its stable name
    MARKS          its lines are known by these: each line that begins an event has one of them, as it is written
    read(near)     the events that begin at this line (`gpudx.evidence.logs._near`): usually one, or none after all

and, where needed,

    GENERIC        1: asked only about lines in which no other format found more than an ending; 2: only about lines in which nothing was
                   found; 3: the same, after all others
    ANY_CASE       True where marks count in upper and lower case
    MOST_READ      how many of its lines are read in one log, where the usual number is too small or too large
    FORGETS        True where a line means the same to its reader whatever came before: lines that differ in digits only are then read a
                   few times, and not again; formats without a reader of their own are always read so
    reader()       in place of `read`: an object with `read(near)` and, if it likes, `finish()`, for formats that need memory; it may
                   have `builds` (what a compiler told of kernels) and `sources` (files that were compiled)

All formats are asked in one pass over the log, so that 100 MB take seconds and the memory of one block. Lines come clean
(`_clean`): without colours, and without the prefixes of CI systems, containers and journals.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Protocol

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near


class Format(Protocol):
    """What a module here offers; the others are optional."""

    __name__: str
    __doc__: str | None
    FORMAT: str
    MARKS: tuple[str, ...]


class Reader(Protocol):
    """Reads the events of one log."""

    def read(self, near: Near) -> Iterator[Event]: ...


@cache
def every() -> tuple[Format, ...]:
    """All formats, by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)  # type: ignore[misc]
