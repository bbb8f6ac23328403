"""Models that a program was given or opened: words of its command, files that were open when we looked, files that were mapped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpudx.evidence.models import is_model
from gpudx.lab.recorded import RunResult

MOST = 4


def models(run: RunResult, maps: Iterable[str]) -> list[Path]:
    """Files that are there, each once, at most MOST."""
    found = dict.fromkeys(os.path.realpath(path) for path in _named(run, maps) if is_model(path))
    return [Path(path) for path in found if os.path.isfile(path)][:MOST]


def _named(run: RunResult, maps: Iterable[str]) -> Iterator[str]:
    for word in run.command[1:]:
        yield word.rpartition("=")[2] if word.startswith("-") else word
    yield from run.opened
    for text in maps:
        yield from (line[line.index("/") :] for line in text.splitlines() if "/" in line)
