"""Reports of a case. Every module here that defines `render(case, page)` is a format, named as its file.

All wording is in `outline`; a format decides only how it looks. Adding a file adds a format. A format that says
`DRAWS = True` is given, in its page, what the case's traces have to show.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from gpudx.errors import UserError
from gpudx.model import Case, Drawing


@dataclass(frozen=True)
class Page:
    """What a format may fill: columns of text, whether colours are wanted, what the traces show, and where the case's files
    are as seen from the report (None: they are not beside it, so nothing is linked)."""

    width: int = 80
    colour: bool = False
    drawing: Drawing | None = None
    files: str | None = None


Renderer = Callable[[Case, Page], str]


@cache
def _modules() -> dict[str, ModuleType]:
    """A trailing underscore in a file's name only avoids a clash and is not part of the name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = {name.rstrip("_"): importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "render")}


@cache
def formats() -> dict[str, Renderer]:
    """Name -> renderer."""
    return {name: module.render for name, module in _modules().items()}


def draws(format: str) -> bool:
    """Does a format want a drawing? Making one takes time."""
    return bool(getattr(_modules().get(format), "DRAWS", False))


def render(case: Case, format: str, page: Page | None = None) -> str:
    """The report of `case` as text. UserError when there is no such format."""
    known = formats()
    if format not in known:
        raise UserError(f"There is no report format {format!r}: choose one of {', '.join(known)}.")
    return known[format](case, page or Page())
