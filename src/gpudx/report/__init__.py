"""Reports of a case. Every module here that defines `render(case, page)` is a format, named as its file. One that defines
`write(case, timelines, out)` shows more than a case holds, and is written piece by piece.

All wording is in `outline`; a format decides only how it looks. Adding a file adds a format. A format that says
`DRAWS = True` is given, in its page, what the case's traces have to show.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from gpudx.errors import UserError
from gpudx.model import Case, Drawing


@dataclass(frozen=True)
class Rule:
    """What an id in a case means."""

    title: str
    text: str


@dataclass(frozen=True)
class Page:
    """What a format may fill: columns of text, whether colours are wanted, what the traces show, and where the case's files
    are as seen from the report (None: they are not beside it, so nothing is linked). `rules`: what the ids of a case mean,
    for formats that carry their own explanations. `language`: one of `gpudx.report.languages`."""

    width: int = 80
    colour: bool = False
    drawing: Drawing | None = None
    files: str | None = None
    rules: Mapping[str, Rule] = field(default_factory=dict)
    language: str = "en"


Renderer = Callable[[Case, Page], str]


@cache
def _modules() -> dict[str, ModuleType]:
    """A trailing underscore in a file's name only avoids a clash and is not part of the name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name.rstrip("_"): importlib.import_module(f"{__name__}.{name}") for name in names}


@cache
def formats() -> dict[str, Renderer]:
    """Name -> renderer."""
    return {name: module.render for name, module in _modules().items() if hasattr(module, "render")}


@cache
def streamed() -> dict[str, Callable[..., None]]:
    """Name -> writer, of the formats that are written piece by piece."""
    return {name: module.write for name, module in _modules().items() if hasattr(module, "write")}


def draws(format: str) -> bool:
    """Does a format want a drawing? Making one takes time."""
    return bool(getattr(_modules().get(format), "DRAWS", False))


def render(case: Case, format: str, page: Page | None = None) -> str:
    """The report of `case` as text. UserError when there is no such format."""
    known = formats()
    if format not in known:
        raise UserError(
            f"There is no report format {format!r}: choose one of {', '.join(sorted([*known, *streamed()]))}."
        )
    return known[format](case, page or Page())
