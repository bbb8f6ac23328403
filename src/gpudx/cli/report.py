"""gpudx report: show a case."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudx.errors import UserError
from gpudx.report import Page

if TYPE_CHECKING:
    from gpudx.model import Case


def command(
    case: Annotated[Path, typer.Argument(help="A case directory, or the case.json in it.")],
    format: Annotated[
        str, typer.Option("--format", "-f", help="terminal, markdown, html, json, sarif, junit or perfetto.")
    ] = "terminal",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
    redacted: Annotated[bool, typer.Option("--redact", help="Without secrets and names of home folders.")] = False,
    language: Annotated[
        str,
        typer.Option("--lang", metavar="LANGUAGE", envvar="GPUDX_LANG", help="en, ko or es: English, Korean, Spanish."),
    ] = "en",
) -> None:
    """Show the report of a case.

    \b
        gpudx report gpudx-cases/20260102T030405Z-app-1a2b
        gpudx report CASE -f html -o report.html          # one file, with pictures
        gpudx report CASE -f sarif -o gpudx.sarif         # for code scanning
        gpudx report CASE -f junit -o gpudx.xml           # for CI systems
        gpudx report CASE -f perfetto -o gpudx.pftrace    # open it at ui.perfetto.dev
        gpudx report CASE --lang ko                       # in Korean

    Exit status: 0 if it was shown, 2 if there is no such case, format or language.
    """
    from gpudx import casefile
    from gpudx.report import draws, explains, render, writer
    from gpudx.report.languages import chosen
    from gpudx.report.redact import redact

    spoken = chosen(language)
    read = casefile.read(case)
    place = (case if case.is_dir() else case.parent).absolute()  # it may have been moved since it was written
    told = replace(read, directory=str(place))
    if (write := writer(format)) is not None:
        _stream(redact(told) if redacted else told, place, format, output, write)
        return
    page = replace(_page(output, place, linked=not redacted), language=spoken)
    if explains(format):
        from gpudx.causes.pages import every

        page = replace(page, rules=every())
    if draws(format):
        from gpudx.figures import draw

        page = replace(page, drawing=draw(told))
    if redacted:
        told, page = redact(told), replace(page, drawing=redact(page.drawing))
    text = render(told, format, page)
    if output is None:
        sys.stdout.write(text)
    else:
        _write(output, text)


def _stream(case: Case, place: Path, format: str, output: Path | None, write: Callable[..., None]) -> None:
    """A format that is written piece by piece, and no text."""
    from gpudx.figures.tracks import timelines

    if output is None and sys.stdout.isatty():
        raise UserError(f"{format} is not for a terminal: give a file with -o FILE.")
    try:
        with output.open("wb") if output else contextlib.nullcontext(sys.stdout.buffer) as out:
            write(case, timelines(case, place), out)
    except OSError as error:
        raise UserError(
            f"{output or 'stdout'} cannot be written ({error.strerror}): choose another with -o FILE."
        ) from None


def _page(output: Path | None, case: Path, linked: bool) -> Page:
    """What the report may fill, and where the case's files are as seen from it; without -o it is taken to lie beside them."""
    from gpudx.cli.page import page_here

    page = page_here() if output is None else Page()
    near = "." if output is None else os.path.relpath(case, output.absolute().parent)
    return replace(page, files=near if linked else None)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): choose another file with -o FILE.") from None
