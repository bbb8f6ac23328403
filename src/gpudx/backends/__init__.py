"""One package per GPU API. All vendor words live below this one.

A backend is a package here. It may define, and everything is optional:

    library(lib, program, environment)   which build of the recorder to preload into `program`, a file beside `lib`
    environment(lib)   variables through which the API's own loader is told to load the recorder. Each is a list
                       separated by colons; what the user has there stays, behind ours.
    settings(folder, environment)   plain variables under which the driver leaves evidence in `folder`
    UNPOOLED           plain variables under which frameworks pass each allocation on to the driver
    POOLS              pools that cannot be seen through: part of a loaded file's path, and the sentence that says so
    other_device(environment, devices)   variables under which a program that ran on these `devices` runs on others; {}: none
    snapshot(folder)   makes hanging processes leave evidence there now
    TOOLS              what `gpudx doctor` looks for: a tuple of `gpudx.backends.tool.Tool`
    COUNTS_REFERENCES  objects keep alive what they were made from (a kernel its program). Without it, the end of a program
                       is the end of its kernels
    LINKING            how a C program is built against the API on this machine: a `gpudx.backends.tool.Linking`

and hold these modules:

    types              layout_of(type, source, bits), scalar_of(type): sizes of declared types; signature(symbol): what a
                       kernel's symbol says of its name and parameters
    rules              what limits a launch
    statuses           DEVICE_ERRORS: statuses that report an earlier fault of the device; ORDINARY: that are no failures;
                       CAPTURE_ERRORS: of calls that broke a capture; LAUNCHES_TELL_THEIR_OWN: a launch that reports a
                       fault may have made it
    messages           what the driver prints: assertion(text), fault(text)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from gpudx.backends.tool import Linking, Tool


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


def unpooled(base: Mapping[str, str]) -> dict[str, str]:
    """The variables that switch off pools of frameworks; what the user has set stays."""
    merged = {name: value for backend in every().values() for name, value in getattr(backend, "UNPOOLED", {}).items()}
    return {name: value for name, value in merged.items() if name not in base}


def pools() -> dict[str, str]:
    """Pools that stay: part of a loaded file's path, and what to say of it."""
    return {part: said for backend in every().values() for part, said in getattr(backend, "POOLS", {}).items()}


def snapshot(folder: Path) -> list[Path]:
    """What all backends could make hanging processes leave in `folder`."""
    return [path for backend in every().values() for path in getattr(backend, "snapshot", _no_snapshot)(folder)]


def other_device(name: str, base: Mapping[str, str], devices: frozenset[str]) -> dict[str, str]:
    """The variables that put a program of the backend `name` on another device; empty where none is known."""
    found: dict[str, str] = getattr(named(name), "other_device", _no_device)(base, devices)
    return found


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


def linking(name: str) -> Linking | None:
    """How programs of the backend `name` are built; None when it has nothing to say, or does not exist."""
    return getattr(named(name), "LINKING", None)


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
