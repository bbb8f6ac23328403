"""Cells of breadcrumbs that are not in the trace are copied to it: those of a process that was killed, or that still runs.

native/core/crumbs.h says where they are. The process itself copies them at its end; who kills it must do so before.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.errors import UserError
from gpudx.native import shared_files

if TYPE_CHECKING:
    from gpudx.trace import Trace

IN_SHM, IN_PROCESS = 2, 3


def settle(traces: Path) -> None:
    """For all traces in a folder. What cannot be read stays as it is: the trace then says that nothing is known.

    Traces are read only where that is needed: numpy starts threads, and gpudx has one while the program runs.
    """
    for path in sorted(traces.glob("*.gdx")):
        with contextlib.suppress(UserError, OSError, ValueError):
            pid = int(path.name.partition("-")[0])
            if shared_files(pid) or _lives(pid):  # else the process has copied them itself
                from gpudx.trace import open_trace

                refresh(open_trace(path))


def refresh(trace: Trace) -> None:
    """Copy the cells of one process as they are now. A file of a process that is gone is removed."""
    for position in trace.named("note_crumbs").tolist():
        at, file = trace.record(position)["at"] * 8, trace.text(position, "text2")
        if at:
            _copy(trace, at, Path(file) if file else None)


def _copy(trace: Trace, at: int, file: Path | None) -> None:
    places, head = trace.schema.crumbs, trace.schema.layouts["chunk"]
    size = places["rows"] * places["cell_bytes"]
    with trace.path.open("r+b") as opened:
        opened.seek(at)
        chunk = _chunk(opened.read(head.itemsize), trace)
        cells = _cells(trace.pid, chunk, file, size)
        if cells is None:
            return
        opened.seek(at + places["cells"])
        opened.write(cells)
        offset = head.fields["crumbs_kept"][1] if head.fields else 0
        opened.seek(at + offset)
        opened.write(max(chunk["crumbs_kept"] + 1, 1).to_bytes(8, "little"))
    if file is not None and not _lives(trace.pid):
        file.unlink(missing_ok=True)


def _chunk(data: bytes, trace: Trace) -> dict[str, int]:
    import numpy as np

    row = np.frombuffer(data, trace.schema.layouts["chunk"])[0]
    return {name: int(row[name]) for name in ("crumbs_state", "crumbs_at", "crumbs_kept")}


def _cells(pid: int, chunk: dict[str, int], file: Path | None, size: int) -> bytes | None:
    """The cells where the device writes them, None if nobody has them any more."""
    if chunk["crumbs_state"] == IN_SHM and file is not None and file.is_file():
        return file.read_bytes()[:size]
    if chunk["crumbs_state"] == IN_PROCESS and _lives(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(chunk["crumbs_at"])
            data = memory.read(size)
            return data if len(data) == size else None
    return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        return state != "Z"
    return True
