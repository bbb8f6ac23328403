"""Reports of a case. Every module here that defines `render(case, page)` is a format, named as its file. One that defines
`write(case, timelines, out)` shows more than a case holds, and is written piece by piece.

All wording is in `outline`; a format decides only how it looks. Adding a file adds a format. A format that says
`DRAWS = True` is given, in its page, what the case's traces have to show, and one that says `EXPLAINS = True` what its ids mean.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpudx.errors import UserError
from gpudx.model import Case

if TYPE_CHECKING:
    from gpudx.model import Drawing


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
def _files() -> dict[str, str]:
    """Name -> file. A trailing underscore in a file's name only avoids a clash and is not part of the name."""
    return {found.name.rstrip("_"): found.name for found in pkgutil.iter_modules(__path__)}


def _module(name: str) -> ModuleType | None:
    """One file here; the others are not loaded, which takes longer than most reports."""
    return importlib.import_module(f"{__name__}.{_files()[name]}") if name in _files() else None


def _all(function: str) -> dict[str, Callable[..., Any]]:
    """Name -> that function, of each format that defines it."""
    found = {name: getattr(_module(name), function, None) for name in sorted(_files())}
    return {name: one for name, one in found.items() if one is not None}


@cache
def formats() -> dict[str, Renderer]:
    """Name -> renderer."""
    return _all("render")


@cache
def streamed() -> dict[str, Callable[..., None]]:
    """Name -> what writes the format piece by piece, as bytes."""
    return _all("write")


def writer(format: str) -> Callable[..., None] | None:
    """What writes a format piece by piece; None for all others."""
    return getattr(_module(format), "write", None)


def draws(format: str) -> bool:
    """Does a format want a drawing? Making one takes time."""
    return bool(getattr(_module(format), "DRAWS", False))


def explains(format: str) -> bool:
    """Does a format carry what the ids mean? To gather that takes time."""
    return bool(getattr(_module(format), "EXPLAINS", False))


def render(case: Case, format: str, page: Page | None = None) -> str:
    """The report of `case` as text. UserError when there is no such format."""
    renderer: Renderer | None = getattr(_module(format), "render", None)
    if renderer is None:
        known = sorted([*formats(), *streamed()])
        raise UserError(f"There is no report format {format!r}: choose one of {', '.join(known)}.")
    return renderer(case, page or Page())
