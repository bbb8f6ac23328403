"""Case directories: where new ones go."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model import Case

DEFAULT = Path("gpudx-cases")
LONGEST_NAME = 40


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
