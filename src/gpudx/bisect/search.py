"""Which revision brought a failure in: the loop between git, which chooses, the lab, which runs, and the diagnosis, which judges.

A revision is bad when one of its runs has the failure that the bad revision has (gpudx.model.fingerprint), not the same exit
status. It is good when all of its runs pass without it. Anything else says nothing about this failure, and is skipped: a build
that fails, a program that is not there, a run that fails otherwise or that the recorder was not in.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gpudx import casefile
from gpudx.errors import UserError
from gpudx.lab import bisecting
from gpudx.lab.bisecting import Bisecting
from gpudx.lab.experiments import NotReached
from gpudx.lab.recorded import run_recorded
from gpudx.lab.shell_build import build
from gpudx.lab.trials import OUTPUT, Analyse, Interrupted
from gpudx.lab.worktrees import same_place
from gpudx.model import Case
from gpudx.model.bisection import Bisection, Tried, Verdict
from gpudx.model.fingerprint import fingerprint, is_same
from gpudx.model.how import How
from gpudx.model.rates import Rate
from gpudx.report.screen import how_it_ended

STATE, BUILD_SAID = "bisect.json", "build.txt"
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Asked:
    """What the user wants. `command` and `build` are run in the folder of the other tree that `where` is of the repository."""

    good: str
    bad: str
    build: str
    command: tuple[str, ...]
    where: Path
    runs: int = 1
    timeout: float | None = None
    budget_s: float = math.inf


class Bisector:
    """One bisection. `tell` hears of each revision that was tried."""

    def __init__(self, asked: Asked, case_dir: Path, analyse: Analyse, tell: Callable[[Tried], None]) -> None:
        self._asked, self._case_dir, self._analyse, self._tell = asked, case_dir, analyse, tell
        self._top = bisecting.repository(asked.where)
        self._good, self._bad = (bisecting.commit(self._top, name) for name in (asked.good, asked.bad))
        bisecting.check_order(self._top, self._good, self._bad)
        self._check_command()
        self.state = Bisection(self._good, self._bad, failure="", fingerprints=())
        self._failing: Case | None = None  # of the bad revision

    def run(self) -> Bisection:
        """Both ends first, then the revisions that git chooses."""
        good, bad = self._good, self._bad
        with bisecting.bisecting(self._top, bad) as tree:
            self._learn(tree, bad)
            tree.go_to(good)
            self._check_good(self._try(tree, good))
            tree.begin(good, bad)
            end = time.monotonic() + self._asked.budget_s
            while not tree.over and time.monotonic() < end:
                tree.judge(self._try(tree, tree.revision).verdict)
            return self._ended(tree)

    # ---- the ends ----

    def _learn(self, tree: Bisecting, bad: str) -> None:
        """The failure is what the bad revision's runs fail of."""
        tree.clean()
        cases = [self._run(tree, bad, number) for number in range(self._built(tree, bad))]
        failing = [case for case in cases if _fails(case)]
        if not failing:
            raise UserError(
                f"--bad {self._asked.bad} did not fail in {len(cases)} runs: give --runs N if it fails rarely."
            )
        names = tuple(dict.fromkeys(fingerprint(case) for case in failing))
        self._failing = failing[0]
        self.state = replace(self.state, failure=_told(failing[0]), fingerprints=names)
        self._note(bad, "bad", f"{_told(failing[0])}: this is the failure to find", len(cases), len(failing))

    def _built(self, tree: Bisecting, revision: str) -> int:
        """Build; gives the number of runs."""
        try:
            self._build(tree, revision)
        except NotReached as error:
            raise UserError(f"{error}: --bad must build and fail.") from None
        return self._asked.runs

    def _check_good(self, found: Tried) -> None:
        if found.verdict == "bad":
            raise UserError(f"--good {self._asked.good} has the same failure: give an older revision.")
        if found.verdict == "skip":
            raise UserError(f"--good {self._asked.good} cannot be judged ({found.why}): give another revision.")

    # ---- one revision ----

    def _try(self, tree: Bisecting, revision: str) -> Tried:
        try:
            self._build(tree, revision)
            return self._judged(tree, revision)
        except NotReached as error:
            return self._note(revision, "skip", str(error))
        except UserError as error:  # the program is not there, or cannot be started
            return self._note(revision, "skip", str(error).rstrip("."))

    def _judged(self, tree: Bisecting, revision: str) -> Tried:
        """One run with the failure is enough; a pass is believed after all runs."""
        for number in range(self._asked.runs):
            case = self._run(tree, revision, number)
            if _fails(case) and any(is_same(case, one) for one in self.state.fingerprints):
                return self._note(revision, "bad", _told(case), number + 1, 1)
            if any(one.failed and one.name == "recorder" for one in case.instruments):
                return self._note(revision, "skip", "the recorder was not in the program", number + 1)
            if not case.outcome.passed:
                return self._note(revision, "skip", f"fails in another way: {_told(case)}", number + 1)
        return self._note(revision, "good", "passed", self._asked.runs)

    def _note(self, revision: str, verdict: Verdict, why: str, runs: int = 0, failed: int = 0) -> Tried:
        tried = Tried(revision, bisecting.title(self._top, revision), verdict, why, runs, failed)
        self.state = replace(self.state, tried=(*self.state.tried, tried))
        self._keep()
        self._tell(tried)
        return tried

    def _build(self, tree: Bisecting, revision: str) -> None:
        folder = self._folder(revision)
        build(self._asked.build, same_place(self._asked.where, self._top, tree.tree), folder / BUILD_SAID)

    def _run(self, tree: Bisecting, revision: str, number: int) -> Case:
        folder = self._folder(revision) / f"{number + 1:02}"
        folder.mkdir()
        how = How(timeout=self._asked.timeout, output=folder / OUTPUT)
        with _inside(same_place(self._asked.where, self._top, tree.tree)):
            run = run_recorded(list(self._asked.command), folder, how)
            if run.interrupted:
                raise Interrupted
            case = self._analyse(run, list(self._asked.command), folder)
        shutil.rmtree(folder / "traces", ignore_errors=True)  # case.json says what was in them; tens of runs do not fit
        if case is None:
            raise NotReached("its runs could not be analysed")
        return case

    def _folder(self, revision: str) -> Path:
        folder = self._case_dir / "revisions" / revision[:12]
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _check_command(self) -> None:
        """A file of the user's own tree would be run instead of the revision's."""
        inside = [word for word in self._asked.command if os.path.isabs(word) and self._holds(word)]
        if inside:
            raise UserError(f"{inside[0]} is in your own working tree: write its path relative to the current folder.")

    def _holds(self, word: str) -> bool:
        return Path(os.path.realpath(word)).is_relative_to(self._top)

    # ---- the end ----

    def _ended(self, tree: Bisecting) -> Bisection:
        first = tree.first_bad
        name = bisecting.title(self._top, first) if first else ""
        left = tree.candidates if tree.over else tree.left()
        ended = FOUND if first else (SKIPPED if tree.over else TIME_UP).format(count=len(left))
        self.state = replace(
            self.state, first_bad=first, title=name, candidates=left, ended=f"{ended} {self._sure()}".strip()
        )
        self._keep()
        self._write_case()
        return self.state

    def _write_case(self) -> None:
        """The case of the bad revision's failure, with what was learned about where it came from."""
        if self._failing is not None:
            casefile.write(replace(self._failing, directory=str(self._case_dir), bisection=self.state), self._case_dir)

    def _sure(self) -> str:
        """How far "good" may be trusted."""
        bad = self.state.tried[0]
        passed = (1 - Rate(bad.failed, bad.runs).interval(CONFIDENCE).low) ** self._asked.runs
        if self._asked.runs == 1:
            return "Each revision was run once: an intermittent failure needs --runs N."
        return (
            f"The bad revision failed in {bad.failed} of {bad.runs} runs; a revision with this failure passes all"
            f" {self._asked.runs} with a probability of {100 * passed:.2g}% at most (95% confidence)."
        )

    def _keep(self) -> None:
        casefile.write_whole(self._case_dir / STATE, json.dumps(casefile.encode(self.state), indent=1) + "\n")


FOUND = "It is the first revision with this failure."
TIME_UP = "The budget is used up: it is one of {count} revisions."
SKIPPED = "It is one of {count} revisions: those between could not be judged."


def _told(case: Case) -> str:
    """For people: "out-of-bounds-access in kernel gemm, argument 2 (exit status 1)"."""
    best = next((entry for entry in case.diagnosis if entry.status != "refuted"), None)
    if best is None:
        return f"no known cause ({how_it_ended(case.outcome)})"
    guilty = best.guilty
    where = f" in {f'kernel {guilty.kernel}' if guilty.kernel else guilty.call}" if guilty else ""
    argument = f", argument {guilty.argument}" if guilty and guilty.argument is not None else ""
    return f"{best.cause}{where}{argument} ({how_it_ended(case.outcome)})"


def _fails(case: Case) -> bool:
    """Did it end badly, or is there a fault in its record?"""
    return not case.outcome.passed or any(entry.status in ("confirmed", "likely") for entry in case.diagnosis)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """The program is run in the other tree."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
