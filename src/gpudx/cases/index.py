"""The list of all cases: which faults were met, how often, when first and when last. Kept in SQLite, or in PostgreSQL by URL.

The list only points at cases; a case is whole without it. So nothing here may fail a run: `remember` gives a sentence instead.
GPUDX_CASES says where it is ("none": nowhere).
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import socket
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.model import Case
from gpudx.model.fingerprint import fingerprint
from gpudx.report.safe import clean
from gpudx.report.verdict import verdict
from gpudx.report.wording import reworded

VARIABLE = "GPUDX_CASES"
NOWHERE = "none"
PATIENCE_S = 2  # for another gpudx that is writing
INTERPRETER = re.compile(r"python[\d.]*|bash|sh|julia|node|perl|ruby")
SCRIPT = re.compile(r"\.(py|sh|jl|js|pl|rb)$")
POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Entry:
    """A case, as the list knows it. The fields are the table's columns."""

    fingerprint: str
    created: str  # ISO 8601, UTC: sorts as text
    host: str
    directory: str
    command: str
    ending: str
    verdict: str
    summary: str
    version: str


@dataclass(frozen=True)
class Group:
    """All cases of one fingerprint; the words are those of the last one."""

    fingerprint: str
    count: int
    first: str
    last: str
    verdict: str
    summary: str
    directory: str
    command: str = ""


def default(environment: Mapping[str, str] = os.environ) -> str:
    """Where the list is if nobody says otherwise."""
    return environment.get(VARIABLE) or os.path.join(default_folder(environment), "cases.db")


def default_folder(environment: Mapping[str, str] = os.environ) -> str:
    """Where gpudx keeps what belongs to the user (XDG Base Directory Specification)."""
    data = environment.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local/share")
    return os.path.join(data, "gpudx")


def entry(case: Case) -> Entry:
    """What is kept of a case."""
    status, _, headline = verdict(reworded(case))
    return Entry(
        fingerprint=fingerprint(case),
        created=clean(case.created),
        host=clean(socket.gethostname()),
        directory=clean(os.path.abspath(case.directory)),
        command=clean(shlex.join(case.command)),
        ending=case.outcome.word,
        verdict=clean(status),
        summary=clean(headline),
        version=case.version,
    )


def program_of(command: str) -> str:
    """The name of the program: of a script or a module where the first word is its interpreter."""
    words = _words(command)
    first = os.path.basename(words[0]) if words else "?"
    if not INTERPRETER.fullmatch(first):
        return first
    rest = words[1:]
    if "-m" in rest[:-1]:
        return rest[rest.index("-m") + 1]
    return next((os.path.basename(word) for word in rest if SCRIPT.search(word)), first)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that never ends: its end was left out
        return command.split()


def remember(case: Case, url: str | None = None) -> str | None:
    """Add a case; gives a sentence when that could not be done."""
    place = url or default()
    if place == NOWHERE:
        return None
    try:
        with opened(place, make=True) as store:
            store.add(entry(case))
    except UserError as error:
        return f"This case was not added to the list of cases: {error}"
    return None


class Store:
    """An open list. `mark` is how the database's statements mark a value."""

    COLUMNS = tuple(field.name for field in fields(Entry))

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection, self._mark = connection, mark

    def make(self) -> None:
        columns = ", ".join(f"{name} text not null" for name in self.COLUMNS)
        self._connection.execute(
            f"create table if not exists gpudx_cases ({columns}, primary key (host, directory, created))"
        )

    def add(self, one: Entry) -> None:
        """A case that is there already stays once."""
        values = ", ".join([self._mark] * len(self.COLUMNS))
        names = ", ".join(self.COLUMNS)
        self._connection.execute(
            f"insert into gpudx_cases ({names}) values ({values}) on conflict do nothing", astuple(one)
        )

    def remove(self, gone: Iterable[Entry]) -> None:
        """Take cases off the list."""
        for one in gone:
            self._connection.execute(
                f"delete from gpudx_cases where host = {self._mark} and directory = {self._mark} and created = {self._mark}",
                (one.host, one.directory, one.created),
            )

    def entries(self, prefix: str = "") -> list[Entry]:
        """The cases whose fingerprint begins so, the last first."""
        rows = self._connection.execute(
            f"select {', '.join(self.COLUMNS)} from gpudx_cases where substr(fingerprint, 1, {len(prefix)}) = {self._mark}"
            " order by created desc, directory desc",
            (prefix,),
        )
        return [Entry(*row) for row in rows.fetchall()]


def groups(entries: Iterable[Entry]) -> list[Group]:
    """By fingerprint, of entries in the order of `Store.entries`: what was seen last comes first."""
    together: dict[str, list[Entry]] = {}
    for one in entries:
        together.setdefault(one.fingerprint, []).append(one)
    return [_group(cases) for cases in together.values()]


def _group(cases: list[Entry]) -> Group:
    last = cases[0]
    return Group(
        last.fingerprint, len(cases), cases[-1].created, last.created, last.verdict, last.summary, last.directory, last.command
    )


@contextlib.contextmanager
def opened(url: str, make: bool = False) -> Iterator[Store]:
    """The list at `url`: a file, sqlite:///FILE or postgresql://... What is done is kept if all of it could be done."""
    with _postgres(url) if url.startswith(POSTGRES) else _sqlite(url.removeprefix("sqlite://"), make) as store:
        if make:
            store.make()
        yield store


@contextlib.contextmanager
def _sqlite(path: str, make: bool) -> Iterator[Store]:
    if not make and not Path(path).is_file():
        raise UserError(
            f"There is no list of cases at {clean(path)}: `gpudx run` writes one, or give another with --db URL."
        )
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE_S)) as connection, connection:
            yield Store(connection, "?")
    except (OSError, sqlite3.Error) as error:
        raise UserError(_why(clean(path), error)) from None


@contextlib.contextmanager
def _postgres(url: str) -> Iterator[Store]:
    try:
        import psycopg
    except ImportError:
        raise UserError("PostgreSQL needs a driver: pip install 'gpudx[postgres]'.") from None
    try:
        with psycopg.connect(url, connect_timeout=PATIENCE_S) as connection:
            yield Store(connection, "%s")
    except psycopg.Error as error:
        raise UserError(_why("the PostgreSQL database", error)) from None  # its URL may hold a password


def _why(place: str, error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
    return f"{place} cannot be used ({clean(str(reason))}); set {VARIABLE} to another place, or to {NOWHERE}."
