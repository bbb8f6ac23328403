"""gpudx report: show a case."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gpudx.errors import UserError


def command(
    case: Annotated[Path, typer.Argument(help="A case directory, or the case.json in it.")],
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, markdown or json.")] = "terminal",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
) -> None:
    """Show the report of a case."""
    from gpudx import casefile
    from gpudx.cli.running import page_of
    from gpudx.report import Page, render

    read = casefile.read(case)
    place = case if case.is_dir() else case.parent  # it may have been moved since it was written
    page = page_of(sys.stdout.fileno()) if output is None and sys.stdout.isatty() else Page()
    text = render(replace(read, directory=str(place.absolute())), format, page)
    if output is None:
        sys.stdout.write(text)
    else:
        _write(output, text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): choose another file with -o FILE.") from None
