"""Runs another build of the program (`--rebuild 'make -B CFLAGS=-O0'`), built once in the working directory.

The program's own file is kept aside and put back after the build and after each run; other files that the build writes stay, so the
other build must not share libraries with the program. If the failure goes away, what the build changes matters: code, layout or
speed. This names no cause, and may only hide it. A build that fails, or gives the same file, says nothing.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gpudx.lab import trials
from gpudx.lab.experiments import Context, NotReached
from gpudx.lab.kept_aside import kept_aside, refuse_shared, replaced
from gpudx.lab.shell_build import build
from gpudx.model.how import How

ID = "rebuilt"
COST = 2.0
ASKED = True
SAID = "rebuilt.txt"


def check(context: Context) -> None:
    if context.asked.rebuild:
        refuse_shared(context.command[0])


def missing(context: Context) -> str | None:
    return None if context.asked.rebuild else "--rebuild CMD was not given"


def how(context: Context) -> How:
    return context.how


@contextlib.contextmanager
def around(context: Context) -> Iterator[None]:
    flavour = context.shelf.once(ID, partial(_flavour, context))
    with replaced(context.command[0], flavour):
        yield


@contextlib.contextmanager
def _flavour(context: Context) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rebuilt-", dir=context.folder) as place:
        yield _build(context, Path(place) / Path(context.command[0]).name)


def _build(context: Context, into: Path) -> Path:
    """Build, keep what came out, and give the program back."""
    name, before = context.command[0], trials.identity(context.command)
    with kept_aside(name) as file:
        build(context.asked.rebuild, Path.cwd(), context.folder / SAID)
        try:
            shutil.copy2(name if "/" in name else file, into)
        except OSError as error:
            raise NotReached(f"the build `{context.asked.rebuild}` left no {name} ({error.strerror})") from None
    if trials.identity((str(into),)) == before:
        raise NotReached(f"the build `{context.asked.rebuild}` left {name} unchanged: make it rebuild")
    return into
