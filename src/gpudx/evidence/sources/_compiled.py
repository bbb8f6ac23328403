"""The source files that a build log names, read where they are; and the kernels of the log, with their lines.

Only ordinary files with the ending of a source are read, below a bound on their size and number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpudx.backends.mangling import function_name
from gpudx.backends.occupancy import bound
from gpudx.evidence.logs._event import Compiled
from gpudx.evidence.sources._functions import Source
from gpudx.evidence.sources._tokens import LONGEST
from gpudx.model import Built, KernelBuild

MOST_FILES = 200
MOST_CHARACTERS = 16 << 20  # of all files together


def read_sources(named: Iterable[Compiled], folders: Sequence[Path]) -> list[Source]:
    """Those that are there. `folders` are where relative names may begin."""
    found: dict[tuple[str, tuple[str, ...]], Source] = {}
    left = MOST_CHARACTERS
    for one in named:
        path = next((path for path in _candidates(one, folders) if path.is_file()), None)
        if path is None or (str(path), one.options) in found or len(found) >= MOST_FILES or left <= 0:
            continue
        source = read_source(path, one.options)
        if source is not None:
            left -= len(source.text)
            found[str(path), one.options] = source
    return list(found.values())


def _candidates(one: Compiled, folders: Sequence[Path]) -> Iterator[Path]:
    if one.folder:
        yield Path(one.folder) / one.path
    yield from (folder / one.path for folder in folders)


def read_source(path: Path, options: Sequence[str] = ()) -> Source | None:
    """One file; None where it cannot be read."""
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
    return Source(str(path), text, tuple(options), dict(defines(options)))


def defines(options: Iterable[str]) -> Iterator[tuple[str, str]]:
    """ "-DN=4" is ("N", "4"); "-DN" is ("N", "1"), as compilers have it."""
    for option in options:
        if option.startswith("-D") and len(option) > 2:
            name, equals, value = option[2:].partition("=")
            yield name, value if equals else "1"


def built(builds: Iterable[KernelBuild], sources: Sequence[Source]) -> tuple[Built, ...]:
    """Kernels with their bounds, and with their lines where just one source has a kernel of this name."""
    lines = kernel_lines(sources)
    return tuple(Built(_placed(build, lines), bound(build)) for build in builds)


def kernel_lines(sources: Sequence[Source]) -> dict[str, str]:
    """Where each kernel is declared; without those that are in several places."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for function in source.functions:
            if function.is_kernel:
                found.setdefault(function.name, set()).add(source.at(function.line))
    return {name: next(iter(places)) for name, places in found.items() if len(places) == 1}


def bare(kernel: str) -> str:
    """ "a::fold<8>" -> "fold"."""
    return kernel.split("<")[0].split("::")[-1]


def _placed(build: KernelBuild, lines: dict[str, str]) -> KernelBuild:
    known = lines.get(bare(function_name(build.mangled)), "")
    return replace(build, source=known) if known and not build.source else build
