"""Models that a program was given or opened: words of its command, files that were open when we looked, files that were mapped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpudx.errors import UserError
from gpudx.evidence.models import ModelFile, is_model, read
from gpudx.lab.recorded import RunResult

MOST = 4


def read_models(run: RunResult, maps: Iterable[str]) -> tuple[list[ModelFile], list[str]]:
    """The models that the program was given or opened, and a sentence for each that cannot be read."""
    found, unreadable = [], []
    for path in models(run, maps):
        try:
            model = read(path)
            found += [model] if model.fields or model.tensors else []  # some other config.json
        except UserError as error:
            unreadable.append(str(error))
    return found, unreadable


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
