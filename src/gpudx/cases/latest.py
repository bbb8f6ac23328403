"""Which case commands mean when none is named: the newest below the current directory, else the newest of all."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from gpudx import casefile
from gpudx.cases import index
from gpudx.errors import UserError

FOLDER = Path("gpudx-cases")


def latest() -> Path:
    """UserError when there is no case."""
    here = os.getcwd() + os.sep
    listed = _listed()
    near = [one for one in listed if one.startswith(here)]
    newest = max([*_in_folder(), *near[:1]], key=_written, default=None) or next(iter(listed), None)
    if newest is None:
        raise UserError("There is no case yet: record one with gpudx run -- CMD, or name its directory.")
    return Path(newest)


def _in_folder() -> list[str]:
    """The newest case of ./gpudx-cases; their names begin with the time."""
    names = sorted((str(one.parent) for one in FOLDER.glob(f"*/{casefile.NAME}")), reverse=True)
    return [os.path.abspath(one) for one in names[:1]]


def _written(place: str) -> float:
    return os.stat(os.path.join(place, casefile.NAME)).st_mtime


def _listed() -> list[str]:
    """Cases of this machine that the list knows and that still exist, newest first."""
    place = index.default()
    if place == index.NOWHERE:
        return []
    try:
        with index.opened(place) as store:
            entries = store.entries()
    except UserError:
        return []
    host = socket.gethostname()
    return [one.directory for one in entries if one.host == host and _exists(one.directory)]


def _exists(place: str) -> bool:
    return os.path.isfile(os.path.join(place, casefile.NAME))
