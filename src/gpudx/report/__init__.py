"""Reports of a case. Every module here that defines `render(case, page)` is a format, named as its file.

All wording is in `outline`; a format decides only how it looks. Adding a file adds a format.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gpudx.errors import UserError
from gpudx.model import Case


@dataclass(frozen=True)
class Page:
    """What a format may fill: columns of text, and whether colours are wanted."""

    width: int = 80
    colour: bool = False


Renderer = Callable[[Case, Page], str]


@cache
def formats() -> dict[str, Renderer]:
    """Name -> renderer. A trailing underscore in a file's name only avoids a clash and is not part of the name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = {name.rstrip("_"): importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: module.render for name, module in modules.items() if hasattr(module, "render")}


def render(case: Case, format: str, page: Page | None = None) -> str:
    """The report of `case` as text. UserError when there is no such format."""
    known = formats()
    if format not in known:
        raise UserError(f"There is no report format {format!r}: choose one of {', '.join(known)}.")
    return known[format](case, page or Page())
