"""Case directories: where new ones go. gpudx cases: the list of them, grouped by what went wrong."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case

DEFAULT = Path("gpudx-cases")
LONGEST_NAME = 40
NONE_LISTED = 1


def command(
    fingerprint: Annotated[
        str, typer.Argument(metavar="FINGERPRINT", help="List the cases of this group; its beginning is enough.")
    ] = "",
    db: Annotated[str | None, typer.Option(metavar="URL", help="A SQLite file, or postgresql://...")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the cases of every `gpudx run`, grouped by what went wrong: how often, first and last seen.

    The list is in $XDG_DATA_HOME/gpudx/cases.db, or where GPUDX_CASES says ("none": no list is kept).

    \b
        gpudx cases
        gpudx cases 1:01458e
        gpudx cases --db postgresql://ci@db.example/gpudx

    Exit status: 0 if there are cases, 1 if there are none.
    """
    from gpudx.cases import index

    with index.opened(db or index.default()) as store:
        found = store.entries(fingerprint) if fingerprint else store.groups()
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=1))
    elif found:
        _table([asdict(one) for one in found], CASE_COLUMNS if fingerprint else GROUP_COLUMNS)
    if not found:
        raise typer.Exit(NONE_LISTED)


GROUP_COLUMNS = ("fingerprint", "count", "first", "last", "verdict", "directory")
CASE_COLUMNS = ("created", "host", "ending", "verdict", "directory")


def _table(rows: list[dict[str, str]], columns: tuple[str, ...]) -> None:
    from gpudx.cli.show import write_table

    write_table(list(columns), [[row[name] for name in columns] for row in rows], None)


@contextlib.contextmanager
def new_case(wanted: Path | None, command: str) -> Iterator[Path]:
    """An empty directory for a case: the one wanted, else a new one below ./gpudx-cases. Absolute.

    When nothing came of it, and it is still empty, it is taken away again.
    """
    path = (wanted or DEFAULT / _name(command)).absolute()
    made = _make(path)
    try:
        yield path
    except UserError:
        for directory in made:
            with contextlib.suppress(OSError):
                (directory / "traces").rmdir()
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise


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
