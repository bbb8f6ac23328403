"""Runs the program of another revision (`--revision REV --build CMD`), built in a git worktree of its own.

Only files of the repository that the command names are taken from there; the working directory, and what the program opens in it, stay
the user's. If the failure goes away, a change between the revisions matters: `gpudx bisect` finds it. This names no cause. A build that
fails, or leaves no program, says nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gpudx.errors import UserError
from gpudx.lab import worktrees
from gpudx.lab.experiments import Context
from gpudx.lab.shell_build import build
from gpudx.model.how import How

ID = "revision"
COST = 2.0
ASKED = True
SAID = "revision.txt"


def check(context: Context) -> None:
    if bool(context.asked.revision) != bool(context.asked.build):
        raise UserError("--revision REV and --build CMD belong together: give both.")
    if context.asked.revision:
        worktrees.check(context.command, context.asked.revision)


def missing(context: Context) -> str | None:
    return None if context.asked.revision else "--revision REV --build CMD was not given"


def how(context: Context) -> How:
    return context.how


def command(context: Context) -> tuple[str, ...]:
    tree = context.shelf.once(ID, partial(_built, context))
    return worktrees.translated(context.command, worktrees.top_of(context.command), tree)


@contextlib.contextmanager
def _built(context: Context) -> Iterator[Path]:
    top = worktrees.top_of(context.command)
    with worktrees.worktree(top, context.asked.revision) as tree:
        build(context.asked.build, worktrees.same_place(Path.cwd(), top, tree), context.folder / SAID)
        yield tree
