"""One package per GPU API. All vendor words live below this one.

A backend is a package here. It may define, and everything is optional:

    environment(lib)   variables through which the API's own loader is told to load the recorder. Each is a list
                       separated by colons; what the user has there stays, behind ours.
    tools()            what `gpudx doctor` looks for: a sequence of `gpudx.backends.tool.Tool`
    linking(lib_names) how a C program is built against the API on this machine: `gpudx.backends.tool.Linking`
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from pathlib import Path
from types import ModuleType


@lru_cache(maxsize=None)
def every() -> tuple[ModuleType, ...]:
    """All backends, by name. Importing one loads no driver."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def environment(lib: Path) -> dict[str, str]:
    """The variables of all backends."""
    merged: dict[str, str] = {}
    for backend in every():
        merged.update(getattr(backend, "environment", _nothing)(lib))
    return merged


def named(name: str) -> ModuleType | None:
    """The backend called `name`, or None."""
    return next((backend for backend in every() if backend.__name__.rpartition(".")[2] == name), None)


def _nothing(lib: Path) -> dict[str, str]:
    return {}
