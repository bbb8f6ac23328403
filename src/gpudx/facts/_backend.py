"""What only an API's backend can know, asked for by module: `backend_module("opencl", "types")`."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from types import ModuleType

from gpudx.backends import every, named
from gpudx.backends import libraries as backend_libraries

__all__ = ["backend_libraries", "backend_module", "backend_modules"]


@cache
def backend_module(api: str, leaf: str) -> ModuleType | None:
    """A module of the API's backend, None where it has no such module."""
    backend = named(api)
    name = f"{backend.__name__}.{leaf}" if backend else ""
    return importlib.import_module(name) if name and importlib.util.find_spec(name) else None


def backend_modules(leaf: str) -> list[ModuleType]:
    """The modules of this name, of all backends that have one."""
    return [module for api in every() if (module := backend_module(api, leaf))]
