"""gpudx report: show a case."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gpudx.errors import UserError
from gpudx.report import Page


def command(
    case: Annotated[Path, typer.Argument(help="A case directory, or the case.json in it.")],
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, markdown, html or json.")] = "terminal",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
    redacted: Annotated[bool, typer.Option("--redact", help="Without secrets and names of home folders.")] = False,
) -> None:
    """Show the report of a case."""
    from gpudx import casefile
    from gpudx.report import draws, render
    from gpudx.report.redact import redact

    read = casefile.read(case)
    place = (case if case.is_dir() else case.parent).absolute()  # it may have been moved since it was written
    told = replace(read, directory=str(place))
    page = _page(output, place, linked=not redacted)
    if draws(format):
        from gpudx.drawn import draw

        page = replace(page, drawing=draw(told))
    if redacted:
        told, page = redact(told), replace(page, drawing=redact(page.drawing))
    text = render(told, format, page)
    if output is None:
        sys.stdout.write(text)
    else:
        _write(output, text)


def _page(output: Path | None, case: Path, linked: bool) -> Page:
    """What the report may fill, and where the case's files are as seen from it; without -o it is taken to lie beside them."""
    from gpudx.cli.running import page_of

    page = page_of(sys.stdout.fileno()) if output is None and sys.stdout.isatty() else Page()
    near = "." if output is None else os.path.relpath(case, output.absolute().parent)
    return replace(page, files=near if linked else None)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): choose another file with -o FILE.") from None
