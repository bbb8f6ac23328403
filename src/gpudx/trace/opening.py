"""Opens the traces of a file, a folder or a case."""

from __future__ import annotations

from pathlib import Path

from gpudx.errors import UserError
from gpudx.trace.reader import Trace


def open_trace(path: Path) -> Trace:
    """Opens one trace file; raises UserError for anything that is not one."""
    return Trace(path)


def open_traces(folder: Path, pattern: str = "*.gdx") -> tuple[list[Trace], list[str]]:
    """The readable traces of a folder, oldest process first, and a sentence for each that is not."""
    traces, unreadable = [], []
    for path in sorted(folder.glob(pattern)):
        try:
            traces.append(open_trace(path))
        except UserError as error:
            unreadable.append(str(error))
    return sorted(traces, key=lambda t: int(t.header["start_mono_ns"])), unreadable


def open_case(directory: Path) -> list[Trace]:
    """All traces of a case, oldest process first."""
    folder = directory / "traces"
    if not folder.is_dir():
        raise UserError(f"{directory}: no recorded traces here; give a case directory made by `gpudx run`.")
    traces, unreadable = open_traces(folder)
    if unreadable:
        raise UserError(unreadable[0])
    return traces
