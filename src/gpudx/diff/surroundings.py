"""What stands around the calls: how the program was started, on what, which files it was made of, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpudx.backends import is_compiled
from gpudx.diff.found import NOT_THERE, Found
from gpudx.diff.side import Side
from gpudx.model import Case


@dataclass(frozen=True)
class Surroundings:
    """A case and its processes."""

    case: Case
    sides: Sequence[Side]


def environment(good: Surroundings, bad: Surroundings) -> Iterator[Found]:
    """The command's words, the variables that drivers and loaders read, and the devices."""
    yield from _words(good.case.command, bad.case.command)
    yield from _named("environment", "variable", good.case.surroundings, bad.case.surroundings)
    yield from _named("environment", "device", _devices(good.sides), _devices(bad.sides))


def objects(good: Surroundings, bad: Surroundings) -> Iterator[Found]:
    """Loaded files by name: another content, or only on one side."""
    yield from _named("objects", "loaded object", _loaded(good.case), _loaded(bad.case))


def ending(good: Surroundings, bad: Surroundings) -> Iterator[Found]:
    if good.case.outcome.word != bad.case.outcome.word:
        yield Found("ending", "the program ended:", good.case.outcome.word, bad.case.outcome.word, None, None)


def _words(good: Sequence[str], bad: Sequence[str]) -> Iterator[Found]:
    """The program is compared as a file, among the loaded ones: its place may differ."""
    one, other = ([os.path.basename(words[0]), *words[1:]] if words else [] for words in (good, bad))
    for place in range(max(len(one), len(other))):
        was, now = (words[place] if place < len(words) else NOT_THERE for words in (one, other))
        if was != now:
            yield Found("environment", f"word {place} of the command:", was, now, None, None)


def _named(aspect: str, what: str, good: Mapping[str, str], bad: Mapping[str, str]) -> Iterator[Found]:
    for name in sorted(good.keys() | bad.keys()):
        was, now = good.get(name, NOT_THERE), bad.get(name, NOT_THERE)
        if was != now:
            yield Found("objects" if aspect == "objects" else "environment", f"{what} {name}:", was, now, None, None)


def _devices(sides: Sequence[Side]) -> dict[str, str]:
    """Driver and version by the device's name."""
    found = (device for side in sides for device in side.facts.kernels.devices.values())
    return {device.name: " ".join(device.version.split()) for device in found}


def _loaded(case: Case) -> dict[str, str]:
    """What identifies the loaded files of each bare name; the recorder itself and compiled kernels are left out."""
    found: dict[str, set[str]] = {}
    recorded = {process.pid for process in case.processes}  # a driver's compiler runs once, and then has its cache
    for one in case.identity.objects if case.identity else ():
        if not recorded & set(one.processes):
            continue
        name = f"build id {one.build_id}" if one.build_id else f"sha256 {one.sha256}" if one.sha256 else ""
        if name and not one.path.endswith(OWN) and not is_compiled(one.path):
            found.setdefault(os.path.basename(one.path), set()).add(name)
    return {name: ", ".join(sorted(identities)) for name, identities in found.items()}


OWN = ("libgpudx.so", "libgpudx-opencl.so")
