"""What an object was built from, by its debug information, and whether its sources are still those.

A file's time alone says little: a clone, a checkout or a copy gives old content a new time. So a newer source counts only where
its checksum is another one (DWARF 5 of clang), where git says that it has changes that are not committed, or a commit that is
newer than the object, or where there is no repository and it is not one of a whole set that was copied at once.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpudx.elf.dwarf import Dwarf
from gpudx.elf.image import DEBUG_ROOT, Image
from gpudx.identity.places import is_own
from gpudx.lab import source_tree
from gpudx.model import Making, Source
from gpudx.model.identity import Newer

MOST_UNITS = 2_000
MOST_SOURCES = 5_000
MOST_TOLD = 20
SLACK_S = 1.0  # clocks of network file systems, and steps of one build
AT_ONCE_S = 5.0  # files that were copied together
NONSENSE_BEFORE = 946_684_800.0  # 2000: reproducible builds set such times


@dataclass(frozen=True)
class _File:
    path: str
    modified: float
    sum: str  # MD5 that the compiler kept, or ""


@dataclass(frozen=True)
class Made:
    """What an object was made of. `sources` have their checksums, or "" where the compiler kept none."""

    folders: tuple[str, ...]
    compilers: tuple[str, ...]
    sources: Mapping[str, str]


def made_of(image: Image) -> Made:
    """As its debug information says it."""
    debug = image if ".debug_info" in image.sections else image.debug_image(DEBUG_ROOT)
    units = list(Dwarf(debug).units(MOST_UNITS)) if debug else []
    folders = tuple(dict.fromkeys(unit.folder for unit in units if unit.folder))
    compilers = tuple(dict.fromkeys(unit.producer for unit in units if unit.producer))
    return Made(
        folders, compilers, {path: text for unit in units for path, text in zip(unit.files, unit.sums, strict=False)}
    )


def built(made: Made, modified: float, started: float) -> Making:
    """Of an object of the user's own; `started` is when it was run: what was edited later says nothing."""
    files = [file for file in _present(made.sources) if file.modified <= started]
    newer = _newer(files, modified) if modified > NONSENSE_BEFORE else ()
    return Making(made.folders, made.compilers, len(files), newer)


def _present(sums: Mapping[str, str]) -> list[_File]:
    """The sources that are here, without those of the system."""
    found = []
    for path, text in list(sums.items())[:MOST_SOURCES]:
        if os.path.isabs(path) and is_own(path) and os.path.isfile(path):
            found.append(_File(path, os.stat(path).st_mtime, text))
    return found


def _newer(files: Sequence[_File], modified: float) -> tuple[Source, ...]:
    proven = [file for file in files if file.sum and _md5(file.path) not in ("", file.sum)]
    late = [file for file in files if not file.sum and file.modified > modified + SLACK_S]
    why: dict[str, Newer] = {**_by_time(late, len(files), modified), **{file.path: "content" for file in proven}}
    told = [Source(file.path, file.modified, why[file.path]) for file in [*proven, *late]]
    return tuple(sorted(told, key=lambda one: (not one.counts, -one.modified))[:MOST_TOLD])


def _md5(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError:
        return ""


def _by_time(late: Sequence[_File], every: int, modified: float) -> dict[str, Newer]:
    """Why each of these files is newer, as far as it can be told."""
    groups: dict[str, list[_File]] = {}
    for file in late:
        groups.setdefault(source_tree.root_of(os.path.dirname(file.path)), []).append(file)
    found: dict[str, Newer] = {}
    for root, files in groups.items():
        found |= _by_git(root, files, modified) if root else _by_spread(files, every)
    return found


def _by_spread(files: Sequence[_File], every: int) -> dict[str, Newer]:
    times = [file.modified for file in files]
    together = len(files) == every > 1 and max(times) - min(times) < AT_ONCE_S
    return {file.path: "copied" if together else "edited" for file in files}


def _by_git(root: str, files: Sequence[_File], modified: float) -> dict[str, Newer]:
    tree = source_tree.describe(root)
    if not tree.head or tree.dirty is None:
        return {file.path: "checked out" for file in files}
    changed = source_tree.changed(root)
    clean = [path for path in source_tree.tracked(root, [file.path for file in files]) if path not in changed]
    times = {} if tree.shallow else source_tree.commit_times(root, clean)
    return {file.path: _verdict(file.path in clean, times.get(file.path, 0.0), modified) for file in files}


def _verdict(clean: bool, committed: float, modified: float) -> Newer:
    if not clean:
        return "edited"
    return "committed" if modified + SLACK_S < committed <= time.time() + SLACK_S else "checked out"


def texts_with(paths: Iterable[str], text: str) -> tuple[str, ...]:
    """ "file:line" of the first line of each file that has the text."""
    found = []
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                line = next((number for number, line in enumerate(file, 1) if text in line), 0)
        except OSError:
            continue
        found += [f"{path}:{line}"] if line else []
    return tuple(found)


def source_files(image: Image) -> tuple[str, ...]:
    """The sources of an object that are here."""
    return tuple(file.path for file in _present(made_of(image).sources))
