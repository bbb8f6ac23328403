"""How far the streams of running processes have come, in as few bytes as tell: what changes when anything moves."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gpudx.native import shared_files
from gpudx.trace.reader import CRUMBS, HEAD, MAGIC

HEAD_OF_CHUNK = np.dtype([("magic", "<u8"), ("kind", "<u4"), ("units", "<u4")])  # the first fields, in every version
ROWS_AND_CELLS = 12288  # of a chunk of crumbs: all but its marks (schema/events.toml)

Moved = tuple[tuple[str, int, bytes], ...]


class Progress:
    """Asked again and again about one folder of traces. A file is searched once: chunks stay what they are."""

    def __init__(self, traces: Path) -> None:
        self._traces = traces
        self._searched: dict[Path, tuple[int, list[int]]] = {}  # up to here, and where crumbs were found

    def now(self) -> Moved:
        """For each process: its file, the file's size, and the crumbs of all its streams. Equal as long as nothing moves."""
        found = []
        for path in sorted(self._traces.glob("*.gdx")):
            with contextlib.suppress(OSError, ValueError):
                found.append((path.name, path.stat().st_size, self._crumbs(path) + shared_cells(path)))
        return tuple(found)

    def _crumbs(self, path: Path) -> bytes:
        parts = []
        with path.open("rb") as file:
            for at in self._places(path, file):
                file.seek(at)
                parts.append(file.read(ROWS_AND_CELLS))
        return b"".join(parts)

    def _places(self, path: Path, file: BinaryIO) -> list[int]:
        head = np.frombuffer(file.read(HEAD.itemsize), HEAD)[0]
        unit = int(head["unit_bytes"])
        if head["magic"] != MAGIC or unit <= 0:
            return []
        at, found = self._searched.get(path, (int(head["first_unit"]), []))
        while True:
            file.seek(at)
            data = file.read(HEAD_OF_CHUNK.itemsize)
            chunk = np.frombuffer(data, HEAD_OF_CHUNK)[0] if len(data) == HEAD_OF_CHUNK.itemsize else None
            if chunk is None or not int(chunk["magic"]):  # not there, or not published yet
                break
            found += [at] if int(chunk["kind"]) == CRUMBS else []
            at += unit * max(int(chunk["units"]), 1)
        self._searched[path] = (at, found)
        return found


def shared_cells(trace: Path) -> bytes:
    """Cells of that process that are not in its trace."""
    return b"".join(file.read_bytes() for file in shared_files(trace.name.partition("-")[0]))
