"""Identifies what ran: binaries, builds, sources and libraries, read once after a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from gpudx import backends
from gpudx.facts import Facts
from gpudx.identity import objects, packages, probes
from gpudx.identity.lacking import lacking
from gpudx.identity.settings import settings
from gpudx.identity.steps import steps
from gpudx.lab import source_tree
from gpudx.lab.recorded import RunResult
from gpudx.lab.roll import RollKind
from gpudx.model import Driver, Identity, LoadedObject, SourceTree

__all__ = ["identify"]

MOST_TREES = 4
CLONED = "{root} is a shallow clone, so it is not known when its files were last changed."


def identify(run: RunResult, facts: Sequence[Facts]) -> Identity:
    """The identity of a run. Never raises for what is missing, unreadable or damaged: that is told as not known."""
    loaded = objects.loaded(run, [one.trace for one in facts])
    trees = _trees(loaded)
    environment = {**os.environ, **run.how.extra_env}
    told = Identity(
        objects=loaded,
        trees=trees,
        interpreters=packages.interpreters(loaded),
        packages=packages.packages(loaded),
        drivers=(*_devices(facts), *_registered(facts, run, environment)),
        settings=settings(environment),
        steps=steps(run.roll),
        unknown=_unknown(loaded, trees),
    )
    asked = probes.answers(run, facts, loaded) if run.how.probes else ()
    return replace(told, probes=asked, lacks=lacking(run, facts, loaded))


def _trees(loaded: Sequence[LoadedObject]) -> tuple[SourceTree, ...]:
    """The repositories around what ran, and around what it was built from."""
    own = [one for one in loaded if one.own]
    folders = [folder for one in own if one.built for folder in one.built.folders]
    roots = [one.tree for one in own] + [source_tree.root_of(folder) for folder in folders if os.path.isdir(folder)]
    return tuple(source_tree.describe(root) for root in list(dict.fromkeys(filter(None, roots)))[:MOST_TREES])


def _devices(facts: Sequence[Facts]) -> tuple[Driver, ...]:
    found = [
        Driver(api, device.name, " ".join(device.version.split()))
        for one in facts
        for api in [_api(one)]
        for device in one.kernels.devices.values()
    ]
    return tuple(dict.fromkeys(found))


def _api(facts: Facts) -> str:
    calls = facts.trace.call
    apis = (facts.trace.schema.calls[int(number)].api for number in dict.fromkeys(calls[:64].tolist()))
    return next((api for api in apis if api != "note"), "")


def _registered(facts: Sequence[Facts], run: RunResult, environment: dict[str, str]) -> tuple[Driver, ...]:
    """Registered drivers of the APIs that were used, and of those whose library was loaded and called nothing."""
    called = {_api(one) for one in facts} - {""}
    silent = [os.path.basename(one.path) for one in run.roll if one.kind == RollKind.NOT_ENTERED]
    used = called | backends.apis_of(silent)
    found = [Driver(api, name, "", problem) for api, name, problem in backends.drivers(environment) if api in used]
    none = [Driver(api, "", "", problem) for api in used - called if (problem := backends.no_driver(api, environment))]
    return (*found, *none)


def _unknown(loaded: Sequence[LoadedObject], trees: Sequence[SourceTree]) -> tuple[str, ...]:
    """What could not be known of what ran: one sentence each."""
    files = [f"{one.path}: {one.unknown}" for one in loaded if one.unknown and (one.own or one.executable)]
    shallow = [CLONED.format(root=tree.root) for tree in trees if tree.shallow]
    return (*files, *(tree.unknown for tree in trees if tree.unknown), *shallow)
