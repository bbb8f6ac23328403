"""Runs whose kernels are built from another text: what an experiment writes for the recorder (native/opencl/edited.h)."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from gpudx.kernel_checks import syntax
from gpudx.kernel_checks.suspects import Edit, Suspect, edited, hash_of
from gpudx.lab.experiments import Context
from gpudx.lab.kernel_checked import FROM_SOURCE
from gpudx.model.how import How

FOLDER = "GPUDX_EDITED"


def missing(context: Context) -> str | None:
    """Why no source can be edited."""
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    if not syntax.available():
        return syntax.NEEDED.rstrip(".")
    return None if context.sources else "no kernel was built from a source"


def how(context: Context, name: str, edits: Sequence[tuple[Suspect, Sequence[Edit]]]) -> How:
    """A run with these edits; `name` says which they are, among all that an investigation makes."""
    folder = context.shelf.once(name, partial(_written, edits))
    return context.how.under({FOLDER: str(folder), FROM_SOURCE: "1"})


@contextlib.contextmanager
def _written(edits: Sequence[tuple[Suspect, Sequence[Edit]]]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpudx-") as folder:
        for source, mine in _by_source(edits).items():
            text = edited(source, mine).encode("utf-8", "surrogateescape")
            (Path(folder) / f"{hash_of(source.encode('utf-8', 'surrogateescape'))}.cl").write_bytes(text)
        yield Path(folder)


def _by_source(edits: Sequence[tuple[Suspect, Sequence[Edit]]]) -> Mapping[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for suspect, mine in edits:
        found.setdefault(suspect.source, []).extend(mine)
    return found
