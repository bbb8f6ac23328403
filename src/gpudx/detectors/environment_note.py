"""Something in the environment of the run can change what GPUs, drivers or loaders do.

These are notes beside a failure, never its cause alone:

    settings            environment variables that make launches wait, hide devices, or take libraries from elsewhere
    missing driver      no driver is registered with the loader, or the file of one is missing and the loader ignores it
    old driver          the driver is of an older major version than the runtime library that the program loaded
    mixed libraries     one process has loaded two different copies of a runtime, which share no state

Example:

    CUDA_LAUNCH_BLOCKING=1 ./app      // errors are reported by other calls than without it

Fix it by unsetting variables that you did not intend, by correcting the .icd file or installing the driver, by updating the
driver, or by removing one of the copies from LD_LIBRARY_PATH.

`gpudx show CASE identity` has every variable with its meaning. Only variables that the program was started with are seen, not
those that a script sets later, and only runtimes that were loaded as a file, by the version in their name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudx.detectors import Run
from gpudx.detectors._ages import name_of
from gpudx.facts import Facts, backend_libraries, backend_modules
from gpudx.facts.maps import parse_maps
from gpudx.model import Evidence, Finding, Identity, LoadedObject, Severity
from gpudx.text import capital, several

ID = "environment-note"
MOST_NAMED = 6
COMMON = "LD_"  # paths for loaders are set on many machines, and seldom matter: the identity has them
GENERAL = ("libstdc++.so", "libgomp.so")
Version = Callable[[str], tuple[int, int] | None]


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """Of the whole run: its variables, the drivers that are missing, and libraries that a process has twice."""
    yield from _settings(identity)
    yield from _missing_drivers(identity, run)
    yield from _mixed_libraries(identity)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """Of a process: a driver that is older than its runtime; one finding at most."""
    for rules in backend_modules("versions"):
        known = filter(None, (rules.driver(device.numbers) for device in facts.kernels.devices.values()))
        yield from [found for driver in list(known)[:1] for found in _older_than(facts, rules.runtime, driver)][:1]


def _note(kind: str, severity: Severity, message: str, evidence: tuple[str, ...], *facts: tuple[str, str]) -> Finding:
    seen = tuple(map(Evidence, evidence))
    return Finding(ID, severity, message, seen, facts=(("note", kind), *facts), scope="note")


def _settings(identity: Identity) -> Iterator[Finding]:
    found = [one for one in identity.settings if not one.name.startswith(COMMON)]
    if found:
        names = several([one.name for one in found], MOST_NAMED)
        were, change = ("was", "changes") if len(found) == 1 else ("were", "change")
        message = f"{names} {were} set, which {change} what GPUs, drivers or loaders do."
        evidence = tuple(f"{one.name}={one.value}: {one.meaning} ({one.source})" for one in found)
        yield _note("settings", "info", message, evidence, *(("variable", one.name) for one in found))


def _missing_drivers(identity: Identity, run: Run) -> Iterator[Finding]:
    """A name without a folder is looked up by the loader in places of its own, and is never reported as missing."""
    for one in identity.drivers:
        if one.problem:
            message = f"{capital(one.problem)}: install the driver{', or correct the entry' if one.name else ''}."
            severity: Severity = "warning" if run.failed else "info"
            yield _note("missing driver", severity, message, (one.problem,), ("driver", one.name))


def _mixed_libraries(identity: Identity) -> Iterator[Finding]:
    for stem in (*GENERAL, *backend_libraries()):
        mine = [one for one in identity.objects if name_of(one.path).startswith(stem) and one.sha256]
        twice = next((both for both in _by_process(mine) if len({one.sha256 for one in both}) > 1), None)
        if twice:
            yield _mixed(stem.rstrip("-").removesuffix(".so"), twice)


def _by_process(objects: list[LoadedObject]) -> Iterator[list[LoadedObject]]:
    for pid in dict.fromkeys(pid for one in objects for pid in one.processes):
        yield [one for one in objects if pid in one.processes]


def _mixed(stem: str, twice: list[LoadedObject]) -> Finding:
    files = several([one.path for one in twice])
    message = (
        f"One process has loaded {len(twice)} different copies of {stem}, which share no state: {files}."
    )
    evidence = tuple(f"{one.path} has the sha256 {one.sha256[:16]}..." for one in twice)
    return _note(
        "mixed libraries", "warning", message, evidence, ("library", stem), *(("file", name_of(o.path)) for o in twice)
    )


def _older_than(facts: Facts, runtime: Version, driver: tuple[int, int]) -> Iterator[Finding]:
    """Versions with the same major number work together."""
    has = f"{driver[0]}.{driver[1]}"
    for path in dict.fromkeys(mapping.path for mapping in parse_maps(facts.trace.maps) if mapping.is_file):
        version = runtime(path)
        if version and version[0] > driver[0]:
            needs = f"{version[0]}.{version[1]}"
            message = f"The driver has version {has}, the runtime {needs}: update the driver, or build with the older toolkit."
            evidence = (f"{path} was loaded", f"the driver reports version {has}")
            yield _note("old driver", "warning", message, evidence, ("driver", has), ("runtime", name_of(path)))
