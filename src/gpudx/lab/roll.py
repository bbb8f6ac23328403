"""The roll: one file per run in which the recorder notes every process image it was in, and every one it was not.

The native side appends fixed records of 512 bytes with one write each (native/core/process.h). A process killed in
the middle of that write, or a full disk, leaves a part of a record: it is counted and skipped.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

NAME = "roll"
MAGIC = b"gpudxrol"
RECORD = struct.Struct("<8s4IQ480s")


class RollKind(IntEnum):
    """What a record says about the process that wrote it."""

    LOADED = 1  # the recorder is in this process image; path: its executable
    STARTS_WITHOUT = 2  # it is about to start `path` without our environment: itself (exec) or a child (spawn)
    NOT_ENTERED = 3  # the API library `path` is loaded, but no call of it reached the recorder
    CANNOT_WRITE = 4  # no trace could be created in `path`
    ENDED = 5  # it called its exit handlers with `status`; _exit, signals and exec leave no such record
    NOT_STARTED = 6  # starting `path` failed: takes back the process's last STARTS_WITHOUT, and is not kept itself


@dataclass(frozen=True)
class RollEntry:
    """One record. `kind` is a RollKind, or a number that a newer recorder wrote."""

    kind: int
    pid: int
    ppid: int
    time_ns: int  # CLOCK_MONOTONIC, as time.monotonic_ns()
    path: str
    spawns: bool = False  # STARTS_WITHOUT: in a new process, so the one that wrote this goes on
    status: int | None = None  # ENDED: the exit status


@dataclass(frozen=True)
class Roll:
    """All records in order of writing; `torn` counts the pieces that are no record."""

    entries: tuple[RollEntry, ...] = ()
    torn: int = 0


def read(path: Path) -> Roll:
    """Read a roll. A missing file is an empty roll: the recorder was in no process."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Roll()
    return parse(content)


def parse(content: bytes) -> Roll:
    """The records in `content`. After a torn one the next magic is searched, so one loss costs one record."""
    entries: list[RollEntry] = []
    torn = 0
    for piece in _pieces(content):
        if len(piece) == RECORD.size and piece.startswith(MAGIC):
            entries.append(_entry(piece))
        else:
            torn += 1
    return Roll(tuple(_that_happened(entries)), torn)


def _that_happened(entries: list[RollEntry]) -> list[RollEntry]:
    """Without the starts that failed."""
    kept: list[RollEntry] = []
    for entry in entries:
        if entry.kind != RollKind.NOT_STARTED:
            kept.append(entry)
            continue
        mine = (i for i in reversed(range(len(kept))) if kept[i].pid == entry.pid)
        last = next((i for i in mine if kept[i].kind == RollKind.STARTS_WITHOUT and not kept[i].spawns), None)
        if last is not None:
            del kept[last]
    return kept


def _pieces(content: bytes) -> Iterator[bytes]:
    """Whole records, and what lies between them."""
    start = 0
    while start < len(content):
        stop = start + RECORD.size
        if not _is_whole(content, start, stop):
            following = content.find(MAGIC, start + 1)
            stop = len(content) if following < 0 else following
        yield content[start:stop]
        start = stop


def _is_whole(content: bytes, start: int, stop: int) -> bool:
    """A record is followed by the end or by a record; or it holds no second magic (a path may contain one)."""
    if not content.startswith(MAGIC, start) or stop > len(content):
        return False
    if stop == len(content) or content.startswith(MAGIC, stop):
        return True
    return content.find(MAGIC, start + 1, stop + len(MAGIC)) < 0


def _entry(piece: bytes) -> RollEntry:
    _, kind, pid, ppid, number, time_ns, path = RECORD.unpack(piece)
    ended = kind == RollKind.ENDED
    name = os.fsdecode(path.split(b"\0", 1)[0])
    return RollEntry(kind, pid, ppid, time_ns, name, not ended and number == 1, number if ended else None)
