"""One process has loaded two versions of a library of which it should have one.

Two copies of a GPU runtime or loader have state of their own: memory, contexts and errors of one are not known to the other. It
comes from a package that brings its own copy beside the system's.

Example:

    LD_LIBRARY_PATH=/opt/toolkit-11/lib python train.py     // the framework was built with, and brings, version 12

Mend it by removing one of them: from LD_LIBRARY_PATH, or by installing the package that is built for the other.

Told of the runtimes and loaders that the backends name and of the C++ library, where both files were loaded in the same process
and have different content.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx import backends
from gpudx.detectors import Run
from gpudx.detectors._ages import name_of
from gpudx.detectors._words import several
from gpudx.model import Evidence, Finding, Identity, LoadedObject

ID = "mixed-library-versions"
GENERAL = ("libstdc++.so", "libgomp.so")


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One finding for each library that some process has twice."""
    for stem in (*GENERAL, *backends.libraries()):
        mine = [one for one in identity.objects if name_of(one.path).startswith(stem) and one.sha256]
        twice = next((both for both in _shared(mine) if len({one.sha256 for one in both}) > 1), None)
        if twice:
            yield _finding(stem.rstrip("-").removesuffix(".so"), twice)


def _shared(objects: list[LoadedObject]) -> Iterator[list[LoadedObject]]:
    """The objects of each process."""
    for pid in dict.fromkeys(pid for one in objects for pid in one.processes):
        yield [one for one in objects if pid in one.processes]


def _finding(stem: str, twice: list[LoadedObject]) -> Finding:
    files = several([one.path for one in twice])
    return Finding(
        id=ID,
        severity="warning",
        message=f"One process has loaded {len(twice)} different copies of {stem}, which do not know of each other: {files}.",
        evidence=tuple(Evidence(f"{one.path} has the sha256 {one.sha256[:16]}...") for one in twice),
        facts=(("library", stem), *(("file", name_of(one.path)) for one in twice)),
    )
