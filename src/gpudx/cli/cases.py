"""Case directories: where new ones go. gpudx cases: the list of them, grouped by what went wrong."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.speak import elsewhere
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.cases.index import Entry, Group, Store
    from gpudx.model import Case

DEFAULT = Path("gpudx-cases")
GITIGNORE = ".gitignore"
LONGEST_NAME = 40
NONE_LISTED = 1


def command(
    fingerprint: Annotated[
        str,
        Argument(
            metavar="FINGERPRINT | prune", help="List the cases of this group (a prefix is enough), or clean up."
        ),
    ] = "",
    db: Annotated[str | None, Option(metavar="URL", help="A SQLite file, or postgresql://...")] = None,
    everything: Annotated[bool, Option("--all", help="Also list cases whose directory is gone.")] = False,
    older_than: Annotated[
        str | None, Option(metavar="AGE", help="With prune: delete cases older than AGE (12h, 30d, 8w).")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    as_html: Annotated[
        bool, Option("--html", help="Print an HTML page with groups, trends and a filter; the same as -o FILE.html.")
    ] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the result to FILE.")
    ] = None,
    show: Annotated[bool, Option("--open", help="Open that page in the browser.")] = False,
) -> None:
    """List recorded cases by cause, with program, count and age.

    The list is in $XDG_DATA_HOME/gpudx/cases.db, or in $GPUDX_CASES ("none": no list is kept).

    \b
        gpudx cases
        gpudx cases --open                   # as a page in the browser
        gpudx cases 2:01458e
        gpudx cases prune                    # forget cases that are gone
        gpudx cases prune --older-than 30d   # also delete older case directories
        gpudx cases --db postgresql://ci@db.example/gpudx

    Exit status: 0 if there are cases, 1 if there are none.
    """
    from gpudx.cases import index

    if older_than is not None and fingerprint != PRUNE:
        raise UserError("--older-than works only with prune: gpudx cases prune --older-than 30d.")
    with index.opened(db or index.default()) as store:
        if fingerprint == PRUNE:
            click.echo(_prune(store, older_than))
            return
        every = store.entries(fingerprint)
    here = [one for one in every if everything or _is_here(one)]
    found = here if fingerprint else index.groups(here)
    page = not as_json and (as_html or show or (output is not None and output.suffix == ".html"))
    with elsewhere(None if page else output, quiet=False):
        _print(found, here, fingerprint, len(every), as_json, page, output, show)
    if not found:
        raise click.exceptions.Exit(NONE_LISTED)


def _print(
    found: Sequence[Entry | Group],
    here: list[Entry],
    fingerprint: str,
    known: int,
    as_json: bool,
    page: bool,
    output: Path | None,
    show: bool,
) -> None:
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
    elif not found:
        click.echo(_nothing(fingerprint, known), err=True)
    elif page:
        _page(here, output, show)
    else:
        _table([_shown(one) for one in found], CASE_COLUMNS if fingerprint else GROUP_COLUMNS)


def _nothing(fingerprint: str, gone: int) -> str:
    if gone:
        return f"gpudx: the directories of all {gone:,} listed cases are gone: --all lists them, `gpudx cases prune` forgets them"
    if fingerprint:
        return f"gpudx: no case has a fingerprint that begins with {fingerprint}: `gpudx cases` lists all"
    return "gpudx: no case is listed yet: `gpudx run -- CMD` records one"


def _page(found: list[Entry], output: Path | None, show: bool) -> None:
    """The page over cases: to a file, to stdout, or to the browser."""
    from gpudx.cases import index
    from gpudx.cases.page import page
    from gpudx.cli.report import open_page, write_page

    place = output or (Path(index.default_folder()) / "cases.html" if show else None)
    text = page(found, (place.parent if place else Path()).absolute())
    if place is None:
        click.echo(text, nl=False)
        return
    write_page(place, text)
    if show:
        open_page(place)


PRUNE = "prune"
GROUP_COLUMNS = ("verdict", "program", "count", "last", "fingerprint", "directory")
CASE_COLUMNS = ("age", "program", "ending", "verdict", "host", "directory")
SHORTEST_FINGERPRINT = 10  # characters that tell groups apart
AGES = {"h": 1 / 24, "d": 1.0, "w": 7.0}


def _table(shown: list[dict[str, str]], columns: tuple[str, ...]) -> None:
    """Where the lines are too long for the terminal, the last two columns are on a line of their own."""
    from gpudx.cli.page import page_here
    from gpudx.report.safe import clean

    cells = [[*columns], *([clean(row[name]) for name in columns] for row in shown)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    fits = sum(widths) + 2 * len(widths) <= page_here().width or not sys.stdout.isatty()
    for row in cells:
        *line, last, directory = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        head, tail = "  ".join(line), f"{last}  {directory.rstrip()}"
        click.echo(f"{head}  {tail}" if fits else f"{head.rstrip()}\n    {tail}")


def _shown(one: Entry | Group) -> dict[str, str]:
    from gpudx.cases.index import program_of

    row = {name: str(value) for name, value in asdict(one).items()}
    row["program"] = program_of(row["command"])
    row["directory"] = row["directory"].replace(os.getcwd() + os.sep, "")
    row["fingerprint"] = row["fingerprint"][:SHORTEST_FINGERPRINT]
    row["age"] = row["last"] = f"{_age(row.get('created') or row['last'])} ago"
    return row


def _age(created: str) -> str:
    """ "5 min", "3 h", "12 d"."""
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds()
    except ValueError:
        return "?"
    steps = ((86_400 * 2, 86_400, "d"), (7_200, 3_600, "h"), (60, 60, "min"))
    return next((f"{seconds / unit:.0f} {name}" for least, unit, name in steps if seconds >= least), f"{seconds:.0f} s")


def _is_here(one: Entry | Group) -> bool:
    """Does the directory exist? That of another machine is not known to be gone."""
    return os.path.isdir(one.directory) or getattr(one, "host", socket.gethostname()) != socket.gethostname()


def _prune(store: Store, older_than: str | None) -> str:
    from gpudx.text import plural

    mine = [one for one in store.entries() if one.host == socket.gethostname()]
    days = _days(older_than) if older_than is not None else None
    old = [one for one in mine if days is not None and os.path.isdir(one.directory) and _is_older(one, days)]
    for one in old:
        _delete(Path(one.directory))
    gone = [one for one in mine if not os.path.isdir(one.directory)]
    store.remove(gone)
    deleted = f"deleted {plural(len(old), 'case directory', 'case directories')}; " if older_than else ""
    return f"gpudx: {deleted}removed {plural(len(gone), 'case')} from the list, {len(mine) - len(gone)} left"


def _delete(place: Path) -> None:
    """Only what is a case is deleted."""
    from gpudx import casefile

    if (place / casefile.NAME).is_file() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)


def _days(age: str) -> float:
    number, unit = age[:-1], age[-1:]
    if unit not in AGES or not number.isdigit():
        raise UserError(f"--older-than {age} is not an age: give for example 12h, 30d or 8w.")
    return int(number) * AGES[unit]


def _is_older(one: Entry, days: float) -> bool:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(one.created)).total_seconds() > days * 86_400
    except ValueError:
        return False


@contextlib.contextmanager
def new_case(wanted: Path | None, *command: str) -> Iterator[Path]:
    """An empty directory for a case: the one wanted, else a new one below ./gpudx-cases. Absolute.

    When nothing came of it, and it is still empty, it is taken away again.
    """
    from gpudx.model.fingerprint import program_name

    path = (wanted or DEFAULT / _name(program_name(command))).absolute()
    made = _make(path)
    if wanted is None:
        _keep_out_of_git(path.parent)
    try:
        yield path
    except UserError:
        for directory in made:
            with contextlib.suppress(OSError):
                (directory / "traces").rmdir()
            if [path.name for path in directory.glob("*")] == [GITIGNORE]:
                (directory / GITIGNORE).unlink()
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise


def _keep_out_of_git(folder: Path) -> None:
    """Cases are large and belong to a machine: nobody wants to commit them by accident."""
    with contextlib.suppress(OSError), (folder / GITIGNORE).open("x") as file:
        file.write("*\n")


def _name(command: str) -> str:
    """UTC time, command, and two random bytes: sorts by time, says what it is, never clashes."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", Path(command).name)[:LONGEST_NAME]
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{plain}-{secrets.token_hex(2)}"


def _make(path: Path) -> list[Path]:
    """Create the directory; gives those that did not exist, innermost first."""
    new = [one for one in (path, *path.parents) if not one.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        occupied = any(path.iterdir())
        (path / ".gpudx").touch()
        (path / ".gpudx").unlink()
    except OSError as error:
        text = f"The case directory {path} cannot be written ({error.strerror}): choose another with --case DIR."
        raise UserError(text) from None
    if occupied:
        raise UserError(f"The directory {path} is not empty: choose a new one with --case DIR.")
    return new


def written(made: Case, folder: Path) -> Case:
    """The case with its place, written there."""
    from gpudx import casefile

    placed = replace(made, directory=str(folder))
    casefile.write(placed, folder)
    return placed
