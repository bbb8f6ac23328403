"""One package per GPU API: environment, error names and tools. All vendor words live below this one.

A backend is a package here. It may define, and everything is optional:

    library(lib, program, environment)   which build of the recorder to preload into `program`, a file beside `lib`
    environment(lib)   variables through which the API's own loader is told to load the recorder. Each is a list
                       separated by colons; what the user has there stays, behind ours.
    settings(folder, environment)   plain variables under which the driver leaves evidence in `folder`
    PREFIXES           how the names of variables begin that its driver, tools and frameworks read
    COMPILED           paths of files that its driver compiled from the program's kernels, as a regular expression
    UNPOOLED           plain variables under which frameworks pass each allocation on to the driver
    POOLS              frameworks whose pool is switched off from inside, if at all: part of a loaded file's path, and what to
                       say where it stayed
    other_device(environment, devices)   variables under which a program that ran on these `devices` runs on others; {}: none
    EXPERIMENTS        experiments that are settings of its runtime: id -> plain variables
    snapshot(folder)   makes hanging processes leave evidence there now
    TOOLS              what `gpudx doctor` looks for: a tuple of `gpudx.backends.tool.Tool`
    DEVICE_CODE        readers of device code in host objects: section -> architectures(read), where read(at, bytes) gives its content
    TEXT_READABLE      section -> can texts of the device code be found in it? readable(read)
    LIBRARIES          libraries of which a process should have one only, by the beginnings of their names
    VARIABLES          environment variables that change what runs where, or how: name -> (meaning, where that is said)
    EMPTY_COUNTS       those of them that mean something if they are set to nothing
    drivers(environment)   drivers that are registered on this machine: (name, problem or "")
    no_driver(environment) what to report where there are none
    COUNTS_REFERENCES  objects keep alive what they were made from (a kernel its program). Without it, the end of a program
                       is the end of its kernels
    DEVICE_FILES       how the paths of the files begin through which programs reach its devices
    LINKING            how a C program is built against the API on this machine: a `gpudx.backends.tool.Linking`

and hold these modules:

    types              layout_of(type, source, bits), scalar_of(type): sizes of declared types; signature(symbol): what a
                       kernel's symbol says of its name and parameters
    rules              what limits a launch
    statuses           DEVICE_ERRORS: statuses that report an earlier fault of the device; ORDINARY: that are no failures;
                       CAPTURE_ERRORS: of calls that broke a capture; LAUNCHES_TELL_THEIR_OWN: a launch that reports a
                       fault may have made it; ERRORS_CROSS_CONTEXTS: a call may report a fault of another context
    messages           what the driver prints: assertion(text), fault(text)
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from gpudx.backends.tool import Linking, Tool

Read = Callable[[int, int], bytes]  # of a section: (offset, bytes) -> content


@cache
def every() -> dict[str, ModuleType]:
    """All backends by name. Importing one loads no driver."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def library(lib: Path, program: Path, base: Mapping[str, str]) -> Path:
    """The build of the recorder that reaches this program's API calls."""
    for backend in every().values():
        lib = getattr(backend, "library", _same)(lib, program, base)
    return lib


def settings(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The plain variables of all backends; what the user has set stays."""
    merged: dict[str, str] = {}
    for backend in every().values():
        merged.update(getattr(backend, "settings", _no_settings)(folder, base))
    return {name: value for name, value in merged.items() if name not in base}


def prefixes() -> tuple[str, ...]:
    """How the names of variables begin that drivers, tools and frameworks of all backends read."""
    return tuple(prefix for backend in every().values() for prefix in getattr(backend, "PREFIXES", ()))


def is_compiled(path: str) -> bool:
    """Did a driver compile this file from the program's kernels? Then the kernels are what is to be compared."""
    return any(re.search(backend.COMPILED, path) for backend in every().values() if hasattr(backend, "COMPILED"))


def unpooled(base: Mapping[str, str]) -> dict[str, str]:
    """The variables that switch off pools of frameworks; what the user has set stays."""
    merged = {name: value for backend in every().values() for name, value in getattr(backend, "UNPOOLED", {}).items()}
    return {name: value for name, value in merged.items() if name not in base}


def pools() -> dict[str, tuple[str, str]]:
    """Pools that may stay, by framework: part of a loaded file's path, and what to say of it."""
    return {name: pool for backend in every().values() for name, pool in getattr(backend, "POOLS", {}).items()}


def snapshot(folder: Path) -> list[Path]:
    """What all backends could make hanging processes leave in `folder`."""
    return [path for backend in every().values() for path in getattr(backend, "snapshot", _no_snapshot)(folder)]


def other_device(name: str, base: Mapping[str, str], devices: frozenset[str]) -> dict[str, str]:
    """The variables that put a program of the backend `name` on another device; empty where none is known."""
    found: dict[str, str] = getattr(named(name), "other_device", _no_device)(base, devices)
    return found


def experiment(name: str, apis: Collection[str]) -> dict[str, str]:
    """The variables under which the runtimes of these backends make an experiment; empty where none can."""
    each = [getattr(backend, "EXPERIMENTS", {}).get(name, {}) for api, backend in every().items() if api in apis]
    return {name: value for one in each for name, value in one.items()}


def named(name: str) -> ModuleType | None:
    """The backend `name`, or None."""
    return every().get(name)


def environment(lib: Path) -> dict[str, str]:
    """The variables of all backends."""
    merged: dict[str, str] = {}
    for backend in every().values():
        merged.update(getattr(backend, "environment", _nothing)(lib))
    return merged


def tools() -> dict[str, tuple[Tool, ...]]:
    """What to look for, by backend."""
    return {name: getattr(backend, "TOOLS", ()) for name, backend in every().items()}


def device_files() -> tuple[str, ...]:
    """How the paths of all devices' files begin."""
    return tuple(path for backend in every().values() for path in getattr(backend, "DEVICE_FILES", ()))


def linking(name: str) -> Linking | None:
    """How programs of the backend `name` are built; None when it has nothing to say, or does not exist."""
    return getattr(named(name), "LINKING", None)


def architectures(section: Callable[[str], Read | None]) -> tuple[str, ...]:
    """The architectures of the device code that a host object holds, each once; `section` opens one of its sections."""
    found: list[str] = []
    for backend in every().values():
        for name, reader in getattr(backend, "DEVICE_CODE", {}).items():
            read = section(name)
            found += reader(read) if read else ()
    return tuple(dict.fromkeys(found))


def hides_texts(section: Callable[[str], Read | None]) -> bool:
    """Does a host object hold device code in which texts cannot be searched, because it is compressed?"""
    for backend in every().values():
        readers = getattr(backend, "TEXT_READABLE", {})
        for name in getattr(backend, "DEVICE_CODE", {}):
            read = section(name)
            if read and not (name in readers and readers[name](read)):
                return True
    return False


def libraries() -> tuple[str, ...]:
    """Libraries of which a process should have one only."""
    return tuple(name for backend in every().values() for name in getattr(backend, "LIBRARIES", ()))


def variables() -> dict[str, tuple[str, str]]:
    """Environment variables that matter, with their meaning and its source. A name that ends in * stands for many."""
    return {name: said for backend in every().values() for name, said in getattr(backend, "VARIABLES", {}).items()}


def empty_counts() -> tuple[str, ...]:
    """Environment variables that mean something if they are set to nothing."""
    return tuple(name for backend in every().values() for name in getattr(backend, "EMPTY_COUNTS", ()))


def drivers(base: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Drivers that are registered: (API, name, problem)."""
    found = {name: getattr(backend, "drivers", _no_drivers)(base) for name, backend in every().items()}
    return tuple((name, driver, problem) for name, listed in found.items() for driver, problem in listed)


def no_driver(api: str, base: Mapping[str, str]) -> str:
    """What is wrong if no driver of the API is registered; "" where one is, or none needs to be."""
    backend = every()[api]
    return backend.no_driver(base) if hasattr(backend, "no_driver") and not backend.drivers(base) else ""


def apis_of(names: Iterable[str]) -> set[str]:
    """The APIs whose libraries are among files of these names."""
    stems = {api: tuple(getattr(backend, "LIBRARIES", ())) for api, backend in every().items()}
    return {api for name in names for api, known in stems.items() if name.startswith(known)}


def _no_drivers(base: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return ()


def _same(lib: Path, program: Path, base: Mapping[str, str]) -> Path:
    return lib


def _nothing(lib: Path) -> dict[str, str]:
    return {}


def _no_settings(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    return {}


def _no_snapshot(folder: Path) -> list[Path]:
    return []


def _no_device(base: Mapping[str, str], devices: frozenset[str]) -> dict[str, str]:
    return {}
