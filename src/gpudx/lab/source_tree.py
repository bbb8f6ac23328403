"""The git repository around what ran: its revision, and what git knows of single files. git gets seconds, then it is "not known"."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpudx.lab.git import git
from gpudx.model import SourceTree

PATIENCE_S = 3.0
MOST_ASKED = 20  # files whose history is looked up

NO_GIT = "git is not installed, so the revision of {root} is not known."
DUBIOUS = "git does not trust {root}, which another user owns, so its revision is not known; see safe.directory in git-config(1)."
NO_COMMIT = "{root} has no commit that git can read, so its revision is not known."
TOO_SLOW = "git did not answer about {root} within {seconds:.0f} s, so it is not known whether it has changes."


def root_of(path: str) -> str:
    """The folder upward of a file or folder that holds .git; "" where there is none."""
    here = Path(path)
    return next((str(folder) for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), "")


def describe(root: str) -> SourceTree:
    """Revision and state of a repository; what git cannot say is told in `unknown`."""
    if shutil.which("git") is None:
        return SourceTree(root, unknown=NO_GIT.format(root=root))
    head = git(Path(root), "log", "-1", "--format=%H %ct", patience=PATIENCE_S)
    words = head.out.split()
    if head.problem or len(words) != 2:
        text = DUBIOUS if "dubious ownership" in head.err else NO_COMMIT
        return SourceTree(root, unknown=text.format(root=root))
    shallow = git(Path(root), "rev-parse", "--is-shallow-repository", patience=PATIENCE_S).out.strip() == "true"
    status = _status(root)
    slow = "" if status is not None else TOO_SLOW.format(root=root, seconds=PATIENCE_S)
    return SourceTree(root, words[0], float(words[1]), None if status is None else bool(status), shallow, slow)


def tracked(root: str, paths: Iterable[str]) -> frozenset[str]:
    """Those of the files that are part of the repository."""
    inside = [path for path in paths if path.startswith(root + "/")]
    if not inside or shutil.which("git") is None:
        return frozenset()
    listed = git(Path(root), "ls-files", "-z", "--", *inside, patience=PATIENCE_S).out.split("\0")
    return frozenset(f"{root}/{name}" for name in listed if name)


def changed(root: str) -> frozenset[str]:
    """Files of the repository that were changed since the last commit."""
    return frozenset(_status(root) or ())


def commit_times(root: str, paths: Sequence[str]) -> dict[str, float]:
    """When each file was last changed by a commit, for the first few; without an entry it is not known."""
    found = {}
    for path in paths[:MOST_ASKED]:
        answer = git(Path(root), "log", "-1", "--format=%ct", "--", path, patience=PATIENCE_S)
        if not answer.problem and answer.out.strip().isdecimal():
            found[path] = float(answer.out)
    return found


def has_commit(root: str, revision: str) -> bool:
    """Is this a commit of the repository?"""
    return not git(Path(root), "cat-file", "-e", f"{revision}^{{commit}}", patience=PATIENCE_S).problem


def _status(root: str) -> list[str] | None:
    """Files that were changed since the last commit; None where git did not say."""
    answer = git(Path(root), "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", patience=PATIENCE_S)
    return None if answer.problem else [f"{root}/{line[3:]}" for line in answer.out.split("\0") if line]
