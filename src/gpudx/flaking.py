"""Flaky tests, run until it is known what decides: the loop between the study, which wishes, and the lab, which runs.

Each run is a line of the journal as soon as it has ended, so that an interruption costs only the run it falls into.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gpudx import casefile
from gpudx.diagnose.flaky.asking import Missing, Records, Wish
from gpudx.diagnose.flaky.conclude import conclude
from gpudx.diagnose.flaky.ledger import Ledger
from gpudx.diagnose.flaky.study import Study, study
from gpudx.errors import UserError
from gpudx.lab import trials
from gpudx.lab.suites import Asked, CannotStart
from gpudx.lab.trials import Interrupted
from gpudx.model.flake import FLAKE, Batch, Flake, Suite

JOURNAL = "flake.jsonl"
PATIENCE = 10  # times the longest run so far: then a run hangs
LEAST_PATIENCE_S = 30.0
SHORTEST_S = 0.001


class Runs(Protocol):
    """What runs tests: the lab, or something that plays it."""

    def run(self, asked: Asked) -> Batch: ...

    def chosen(self, tests: Sequence[int], parallel: bool) -> list[str]: ...


@dataclass(frozen=True)
class Limits:
    """How much may be spent in this session."""

    seconds: float
    runs: int | None = None
    timeout: float | None = None


def _silent(wish: Wish, ledger: Ledger, left: float, likely: float) -> None:
    return None


@dataclass
class Flaker:
    """A study of one suite that can be stopped and taken up again."""

    suite: Suite
    lab: Runs
    journal: Path | None
    limits: Limits
    batches: list[Batch] = field(default_factory=list)
    waits: Callable[[Wish, Ledger, float, float], None] = _silent  # what runs next, seconds left, seconds it may take

    def __post_init__(self) -> None:
        self._began, self._made = time.monotonic(), 0
        self._ledger = Ledger(len(self.suite.tests), self.batches)

    def run(self) -> Flake:
        """Run until everything is settled, or the limits are reached."""
        if self.journal is not None and not self.journal.exists():
            self._write(casefile.encode(self.suite))
        records = Records(self.suite, self._ledger)
        while True:
            found = Study()
            try:
                study(records, found)
                stopped = "settled"
            except Missing as missing:
                stopped = self._advance(missing.wish)
            if stopped:
                return conclude(records, found, stopped, self._command)

    def _advance(self, wish: Wish) -> str:
        """Make a run; the reason to stop instead, if there is one."""
        if self.limits.runs is not None and self._made >= self.limits.runs:
            return "runs used up"
        left = self.limits.seconds - (time.monotonic() - self._began)
        if left <= 0:
            return "budget used up"
        self.waits(wish, self._ledger, left, wish.left * self._mean(wish))
        patience = self._patience()
        try:
            batch = self.lab.run(self._asked(wish, min(patience, max(left, SHORTEST_S))))
        except (Interrupted, KeyboardInterrupt):
            return "interrupted"
        except CannotStart as error:
            raise UserError(f"The command could not be run ({error}): run it by itself to see why.") from None
        if batch.ending == "timeout" and left < patience:
            return "budget used up"
        self._keep(batch)
        return ""

    def _asked(self, wish: Wish, timeout: float) -> Asked:
        return Asked(len(self.batches) + 1, wish.condition, wish.tests, wish.purpose, wish.look, timeout)

    def _patience(self) -> float:
        ended = [batch.seconds for batch in self.batches if batch.ending != "timeout"]
        return self.limits.timeout or (max(LEAST_PATIENCE_S, PATIENCE * max(ended)) if ended else float("inf"))

    def _mean(self, wish: Wish) -> float:
        """Seconds that a run like this takes."""
        alike = [b.seconds for b in self.batches if b.condition == wish.condition.name] or [
            b.seconds for b in self.batches
        ]
        return sum(alike) / len(alike) if alike else 0.0

    def _keep(self, batch: Batch) -> None:
        self._made += 1
        self.batches.append(batch)
        self._ledger.add(batch)
        if self.journal is not None:
            self._write(casefile.encode(batch))

    def _write(self, value: object) -> None:
        assert self.journal is not None
        with self.journal.open("a", encoding="ascii") as file:
            file.write(json.dumps(value) + "\n")

    def _command(self, tests: Sequence[int], parallel: bool) -> str:
        return shlex.join(self.lab.chosen(tests, parallel))


def take_up(case_dir: Path) -> tuple[Suite, list[Batch]]:
    """What was learned before. The program must be the same file as then; a line that was cut off is left out."""
    path = case_dir / JOURNAL
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        suite = casefile.decode(Suite, json.loads(lines[0]), "suite")
    except FileNotFoundError:
        raise UserError(
            f"There is no study of flaky tests in {case_dir}: give the directory that `gpudx flake` named."
        ) from None
    except (OSError, ValueError, IndexError) as error:
        raise UserError(f"{path} cannot be read as a journal ({error}): begin anew.") from None
    if suite.schema != FLAKE:
        raise UserError(f'{path} was written by another gpudx (schema "{suite.schema}"): use that one, or begin anew.')
    return _same(suite), _batches(lines[1:], path)


def _batches(lines: list[str], path: Path) -> list[Batch]:
    made: list[Batch] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            made.append(casefile.decode(Batch, json.loads(line), "run"))
            continue
        _mend(path, lines, len(made))
        break
    return made


def _mend(path: Path, lines: list[str], good: int) -> None:
    """Whole lines only, so that the next one does not join a torn one."""
    head = path.read_text(encoding="ascii").splitlines()[: good + 1]
    casefile.write_whole(path, "\n".join(head) + "\n")


def _same(suite: Suite) -> Suite:
    try:
        os.chdir(suite.folder)
    except OSError as error:
        raise UserError(f"{suite.folder}, where the tests are run, is not there ({error.strerror}).") from None
    if trials.identity(suite.command) != suite.program:
        raise UserError("The program was changed since, so its runs do not belong together: begin anew.")
    return suite
