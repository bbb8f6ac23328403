"""`git bisect` in a separate worktree: the user's working tree, index, branches and their own bisection stay as they are.

Git keeps the state of a bisection per worktree (gitglossary, "per-worktree ref"), so it goes when the worktree goes.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from gpudx.errors import UserError
from gpudx.lab.experiments import NotReached
from gpudx.lab.git import git
from gpudx.lab.worktrees import worktree
from gpudx.model.bisection import Verdict

FOUND = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit", re.MULTILINE)


def repository(where: Path) -> Path:
    """The top of the repository that a folder lies in."""
    if shutil.which("git") is None:
        raise UserError("gpudx bisect needs git, which is not installed: install it.")
    answer = git(where, "rev-parse", "--show-toplevel")
    if answer.problem:
        raise UserError(f"{where} is in no git repository: run gpudx bisect in the program's working tree.")
    return Path(answer.out.rstrip("\n")).resolve()


def commit(top: Path, revision: str) -> str:
    """The full name of a revision."""
    found = git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.problem:
        raise UserError(f"{top} has no revision {revision}: look for it with `git log`, or fetch it.")
    return found.out.strip()


def title(top: Path, revision: str) -> str:
    """The first line of what its author wrote."""
    return git(top, "log", "-1", "--format=%s", revision, "--").out.strip()


def check_order(top: Path, good: str, bad: str) -> None:
    """UserError where no bisection could find anything."""
    if good == bad:
        raise UserError("--good and --bad are the same revision: give two that differ.")
    if not git(top, "merge-base", "--is-ancestor", bad, good).problem:
        raise UserError(
            "--bad is older than --good: swap them to find the revision that fixed a failure."
        )


class Bisecting:
    """A bisection under way: `tree` holds the revision that is to be judged next."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.first_bad: str | None = None
        self.candidates: tuple[str, ...] = ()
        self.over = False

    def go_to(self, revision: str) -> None:
        """Before the search: a revision of the user's own choice."""
        self._git("checkout", "--quiet", "--force", "--detach", revision)
        self.clean()

    def begin(self, good: str, bad: str) -> None:
        self._told(self._git("bisect", "start", bad, good))

    @property
    def revision(self) -> str:
        return self._git("rev-parse", "HEAD").strip()

    def judge(self, verdict: Verdict) -> None:
        """Say what the revision is; git chooses the next."""
        self._git("reset", "--quiet", "--hard")  # a build may have changed files of the repository
        self.clean()
        answer = git(self.tree, "bisect", verdict)
        left = re.findall(r"^([0-9a-f]{40,64})$", answer.out, re.MULTILINE)
        if answer.problem and not left:
            raise UserError(f"git bisect {verdict} {answer.problem}: {(answer.err or answer.out).strip()[-300:]}")
        self.candidates = tuple(left)
        self._told(answer.out)

    def left(self) -> tuple[str, ...]:
        """The revisions that may still be the first bad one."""
        return tuple(self._git("rev-list", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*").split())

    def clean(self) -> None:
        """What an earlier build left must not be taken for what this one made."""
        self._git("clean", "-dffxq")

    def _told(self, said: str) -> None:
        match = FOUND.search(said)
        self.first_bad = match[1] if match else None
        self.over = bool(match) or bool(self.candidates)

    def _git(self, *words: str) -> str:
        answer = git(self.tree, *words)
        if answer.problem:
            raise UserError(f"git {words[0]} {answer.problem}: {answer.err.strip()[-300:]}")
        return answer.out


@contextlib.contextmanager
def bisecting(top: Path, bad: str) -> Iterator[Bisecting]:
    """A worktree for a bisection."""
    try:
        with worktree(top, bad) as tree:
            yield Bisecting(tree)
    except NotReached as error:
        raise UserError(f"{error}: gpudx bisect needs a separate worktree.") from None
