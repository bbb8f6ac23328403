"""How far the streams of running processes have come, in as few bytes as tell: what changes when anything moves."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from gpudx.trace.reader import CRUMBS, HEAD, MAGIC

SHM = Path("/dev/shm")
HEAD_OF_CHUNK = np.dtype([("magic", "<u8"), ("kind", "<u4"), ("units", "<u4")])  # the first fields, in every version
ROWS_AND_CELLS = 12288  # of a chunk of crumbs: all but its marks (schema/events.toml)


def progress(traces: Path) -> tuple[tuple[str, int, bytes], ...]:
    """For each process: its file, the file's size, and the crumbs of all its streams. Equal as long as nothing moves."""
    found = []
    for path in sorted(traces.glob("*.gdx")):
        with contextlib.suppress(OSError, ValueError):
            found.append((path.name, path.stat().st_size, _crumbs(path) + _shared(path)))
    return tuple(found)


def _crumbs(path: Path) -> bytes:
    parts = []
    with path.open("rb") as file:
        head = np.frombuffer(file.read(HEAD.itemsize), HEAD)[0]
        if head["magic"] != MAGIC:
            return b""
        at, unit = int(head["first_unit"]), int(head["unit_bytes"])
        while unit:
            file.seek(at)
            data = file.read(HEAD_OF_CHUNK.itemsize)
            if len(data) < HEAD_OF_CHUNK.itemsize:
                break
            chunk = np.frombuffer(data, HEAD_OF_CHUNK)[0]
            if int(chunk["kind"]) == CRUMBS:
                file.seek(at)
                parts.append(file.read(ROWS_AND_CELLS))
            at += unit * max(int(chunk["units"]), 1)
    return b"".join(parts)


def _shared(path: Path) -> bytes:
    """Cells of that process that are not in its trace."""
    pid = path.name.partition("-")[0]
    return b"".join(file.read_bytes() for file in sorted(SHM.glob(f"gpudx-{pid}-*")))
