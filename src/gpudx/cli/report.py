"""gpudx report: show a case."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import FormatJson, Output
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case
    from gpudx.report import Page

SCREEN = "screen"  # with lines of kernels that are in no file, which the format itself cannot read


def option_values() -> dict[str, tuple[str, ...]]:
    """For the completion of shells."""
    from gpudx.report import formats, streamed

    return {"--format": (*formats(), *streamed())}


def command(
    case: Annotated[
        Path | None,
        Argument(help="A case directory, its case.json, or a bundle. [the latest case]"),
    ] = None,
    format: Annotated[
        str,
        Option("--format", "-f", help="terminal, screen, lines, markdown, html, json, sarif, junit or perfetto."),
    ] = "terminal",
    as_json: FormatJson = False,
    output: Output = None,
    show: Annotated[bool, Option("--open", help="Open the HTML report in the browser.")] = False,
    redacted: Annotated[bool, Option("--redact", help="Remove secrets and home directories.")] = False,
    language: Annotated[
        str,
        Option("--lang", metavar="LANGUAGE", envvar="GPUDX_LANG", help="en, ko or es: English, Korean, Spanish."),
    ] = "en",
) -> None:
    """Show the full report of a case.

    \b
        gpudx report                                    # of the latest case
        gpudx report --open                             # a page in the browser
        gpudx report crash.gpudx.zip                    # of a bundle
        gpudx report CASE -f html -o report.html        # one file, with pictures
        gpudx report CASE -f lines                      # file:line: for editors
        gpudx report CASE -f sarif -o gpudx.sarif       # for code scanning
        gpudx report CASE -f junit -o gpudx.xml         # for CI systems
        gpudx report CASE -f perfetto -o gpudx.pftrace  # for ui.perfetto.dev
        gpudx report CASE --lang ko                     # in Korean

    Exit status: 0 if it was shown, 2 if there is no such case, format or language.
    """
    from gpudx.report.languages import chosen

    spoken = chosen(language)
    format = "json" if as_json else format
    if show:
        format, output = "html", output or _page_file(case)
    with _directory(case) as place:
        _report(place, format, output, redacted, spoken)
    if show and output:
        open_page(output)


def _page_file(case: Path | None) -> Path:
    """Where the page for the browser goes: into the case; of a bundle, beside it."""
    from gpudx.cases.latest import latest

    place = case or latest()
    if place.is_dir():
        return place / "report.html"
    return place.with_name(
        "report.html" if place.suffix == ".json" else f"{place.name.removesuffix('.gpudx.zip')}.html"
    )


@contextlib.contextmanager
def _directory(case: Path | None) -> Iterator[Path]:
    """The case's directory; a bundle is unpacked for as long as it is read."""
    from gpudx.cases.bundle import unpack
    from gpudx.cases.latest import latest

    if case is None:
        yield latest()
    elif case.is_file() and zipfile.is_zipfile(case):
        with tempfile.TemporaryDirectory(prefix="gpudx-") as place:
            unpack(case, Path(place))
            yield Path(place)
    else:
        yield case


def open_page(page: Path) -> None:
    """Open a page in the browser, and print where it is."""
    import webbrowser

    from gpudx.report.safe import full

    click.echo(full(str(page)))
    if not webbrowser.open(page.absolute().as_uri()):
        raise UserError(f"No browser could be started: open {page} yourself.")


def _report(case: Path, format: str, output: Path | None, redacted: bool, spoken: str) -> None:
    from gpudx import casefile
    from gpudx.cli.page import first_screen
    from gpudx.report import draws, explains, render, writer
    from gpudx.report.redact import redact

    read = casefile.read(case)
    place = (case if case.is_dir() else case.parent).absolute()  # it may have been moved since it was written
    told = replace(read, directory=str(place))
    if (write := writer(format)) is not None:
        _stream(redact(told) if redacted else told, place, format, output, write)
        return
    page = replace(_page(output, place, linked=not redacted), language=spoken)
    if explains(format):
        from gpudx.rules import every

        page = replace(page, rules=every())
    if draws(format):
        from gpudx.figures import draw
        from gpudx.report.wording import drawn

        page = replace(page, drawing=drawn(draw(told), told))
    if redacted:
        told, page = redact(told), replace(page, drawing=redact(page.drawing))
    text = first_screen(told, page) if format == SCREEN else render(told, format, page)
    if output is None:
        sys.stdout.write(text)
    else:
        write_page(output, text)


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
    from gpudx.report import Page

    page = page_here() if output is None else Page()
    near = "." if output is None else os.path.relpath(case, output.absolute().parent)
    return replace(page, files=near if linked else None)


def write_page(path: Path, text: str) -> None:
    """Write a report to a file."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): choose another file with -o FILE.") from None
