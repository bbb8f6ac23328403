"""An old revision of the program's source, in a git worktree of its own in the directory for temporary files.

The user's working tree, index and branches are not touched, and no hook of theirs is run. The worktree goes at the end; one that a
crash left behind goes at the next start.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudx.errors import UserError
from gpudx.lab.experiments import NotReached
from gpudx.lab.git import git
from gpudx.lab.probe import Answer

PREFIX = "gpudx-revision-"


def top_of(command: Sequence[str]) -> Path:
    """The repository that holds a file which the command names. UserError when none does."""
    if shutil.which("git") is None:
        raise UserError("--revision needs git, which is not installed: install it.")
    for file in filter(None, _files(command)):
        answer = git(file.parent, "rev-parse", "--show-toplevel")
        if not answer.problem:
            return Path(os.path.realpath(answer.out.rstrip("\n")))
    raise UserError(f"No git repository holds {command[0]}: run a program that is built inside its working tree.")


def check(command: Sequence[str], revision: str) -> None:
    """UserError, with the next step, when the revision cannot be had, or could not be compared."""
    top = top_of(command)
    found = _commit(top, revision)
    if found.problem and git(top, "rev-parse", "--is-shallow-repository").out.strip() == "true":
        raise UserError(f"{top} is a shallow clone without the revision {revision}: run `git fetch --unshallow`.")
    if found.problem:
        raise UserError(f"{top} has no revision {revision}: look for it with `git log`, or fetch it.")
    if git(top, "status", "--porcelain", "--untracked-files=no").out.strip():
        raise UserError(
            f"{top} has changes that are not committed, so revisions could not be compared: commit them or"
            " run `git stash`, and rebuild the program."
        )


def _commit(top: Path, revision: str) -> Answer:
    return git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")


def same_place(where: Path, top: Path, tree: Path) -> Path:
    """The folder of the other tree for one of the repository's; its root for any other."""
    here = Path(os.path.realpath(where))
    other = tree / here.relative_to(top) if here.is_relative_to(top) else tree
    return other if other.is_dir() else tree


@contextlib.contextmanager
def worktree(top: Path, revision: str) -> Iterator[Path]:
    """A working tree of the revision, for a time."""
    _sweep(top)
    place = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    tree = Path(os.path.realpath(place)) / "tree"
    try:
        added = git(top, "worktree", "add", "--detach", str(tree), _commit(top, revision).out.strip())
        if added.problem:
            said = (added.err.strip().splitlines() or [added.problem])[-1]
            raise NotReached(f"git could not check {revision} out ({said})")
        yield tree
    finally:
        _remove(top, tree)


def _remove(top: Path, tree: Path) -> None:
    git(top, "worktree", "remove", "--force", str(tree))
    shutil.rmtree(tree.parent, ignore_errors=True)
    if tree.parent.exists():
        return
    git(top, "worktree", "prune")  # what a removal that failed left in the books


def _sweep(top: Path) -> None:
    """Worktrees of ours whose process is dead."""
    listed = git(top, "worktree", "list", "--porcelain").out
    for match in re.finditer(rf"^worktree (.*/{PREFIX}(\d+)-[^/\n]*/tree)$", listed, re.MULTILINE):
        if not Path(f"/proc/{match[2]}").exists():
            _remove(top, Path(match[1]))


def translated(command: Sequence[str], top: Path, tree: Path) -> tuple[str, ...]:
    """The command with files of the repository replaced by those of the other tree, where they are there.

    The program itself, if it is of the repository, must be there: else the old one would be run under a new name.
    """
    words = [_there(file, top, tree) or word for word, file in zip(command, _files(command), strict=True)]
    file = _files(command[:1])[0]
    if file is not None and file.is_relative_to(top) and words[0] == command[0]:
        raise NotReached(f"the build left no {file.relative_to(top)} in the revision's tree")
    if words == list(command):
        raise NotReached("no file that the command names is in the revision's tree")
    return tuple(words)


def _there(file: Path | None, top: Path, tree: Path) -> str | None:
    if file is None or not file.is_relative_to(top):
        return None
    other = tree / file.relative_to(top)
    return str(other) if other.exists() else None


def _files(command: Sequence[str]) -> list[Path | None]:
    """The files that words name, behind links: the interpreter of a virtual environment is not the repository's."""
    names = [word if place or "/" in word else shutil.which(word) or word for place, word in enumerate(command)]
    return [Path(os.path.realpath(name)) if os.path.isfile(name) else None for name in names]
