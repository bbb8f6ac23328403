"""Flaky tests, run until it is known what decides: the loop between the study, which wishes, and the lab, which runs.

Each run is a line of the journal as soon as it has ended, so that an interruption costs only the runs it falls into. The study sees
runs in the order of their numbers, and only when all that were begun together have ended: were it to look at the quick ones first,
what fails quickly, or slowly, would seem to fail more, or less, often than it does.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from gpudx import casefile
from gpudx.errors import UserError
from gpudx.flake.asking import Missing, Records, Wish
from gpudx.flake.conclude import conclude
from gpudx.flake.ledger import Ledger
from gpudx.flake.study import Study, study
from gpudx.flake.suites import Asked, CannotStart, Lost
from gpudx.lab import trials
from gpudx.lab.trials import Interrupted
from gpudx.model.flake import FLAKE, Batch, Flake, Suite

JOURNAL = "flake.jsonl"
PATIENCE = 10  # times the longest run so far: then a run hangs
LEAST_PATIENCE_S = 30.0
SHORTEST_S = 0.001


class Runs(Protocol):
    """What runs tests: the lab, or something that plays it."""

    @property
    def places(self) -> int:
        """Runs that can be made at the same time."""

    def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
        """Each run as it ends, in whatever order."""

    def chosen(self, tests: Sequence[int], parallel: bool) -> list[str]: ...


@dataclass(frozen=True)
class Limits:
    """How much may be spent in this session."""

    seconds: float
    runs: int | None = None
    timeout: float | None = None


def _silent(wishes: Sequence[Wish], ledger: Ledger, left: float, likely: float) -> None:
    return None


@dataclass
class Flaker:
    """A study of one suite that can be stopped and taken up again."""

    suite: Suite
    lab: Runs
    journal: Path | None
    limits: Limits
    batches: list[Batch] = field(default_factory=list)
    waits: Callable[[Sequence[Wish], Ledger, float, float], None] = _silent  # what runs next, seconds left, and needed

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
                stopped = self._advance(missing.wishes)
            if stopped:
                return conclude(records, found, stopped, self._command)

    def _advance(self, wishes: Sequence[Wish]) -> str:
        """Make as many runs as there are places for; the reason to stop, if there is one."""
        room = float("inf") if self.limits.runs is None else self.limits.runs - self._made
        if room <= 0:
            return "runs used up"
        left = self.limits.seconds - (time.monotonic() - self._began)
        if left <= 0:
            return "budget used up"
        now = wishes[: int(min(self.lab.places, room))]
        self.waits(now, self._ledger, left, len(wishes) * self._mean(now[0]) / len(now))
        return self._make(now, left, self._patience())

    def _make(self, wishes: Sequence[Wish], left: float, patience: float) -> str:
        ended, stopped = dict[int, Batch](), ""
        try:
            for batch in self.lab.results(self._asked(wishes, min(patience, max(left, SHORTEST_S)))):
                if batch.ending == "timeout" and left < patience:
                    stopped = "budget used up"  # it had not the time that others had: nothing is known of it
                elif batch.number not in ended:
                    ended[batch.number] = batch
                    self._write(casefile.encode(batch))
        except (Interrupted, KeyboardInterrupt):
            stopped = "interrupted"
        except Lost as error:
            stopped = str(error)
        except CannotStart as error:
            raise UserError(f"The command could not be run ({error}): run it by itself to see why.") from None
        self._keep([ended[number] for number in sorted(ended)])
        return stopped

    def _asked(self, wishes: Sequence[Wish], timeout: float) -> list[Asked]:
        first = max((batch.number for batch in self.batches), default=0) + 1
        return [
            Asked(number, wish.condition, wish.tests, wish.purpose, wish.look, timeout)
            for number, wish in enumerate(wishes, first)
        ]

    def _patience(self) -> float:
        ended = [batch.seconds for batch in self.batches if batch.ending != "timeout"]
        return self.limits.timeout or (max(LEAST_PATIENCE_S, PATIENCE * max(ended)) if ended else float("inf"))

    def _mean(self, wish: Wish) -> float:
        """Seconds that a run like this takes."""
        alike = [b.seconds for b in self.batches if b.condition == wish.condition.name] or [
            b.seconds for b in self.batches
        ]
        return sum(alike) / len(alike) if alike else 0.0

    def _keep(self, batches: Sequence[Batch]) -> None:
        self._made += len(batches)
        for batch in batches:
            self.batches.append(batch)
            self._ledger.add(batch)

    def _write(self, value: object) -> None:
        if self.journal is not None:
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
        raise UserError(f"{path} cannot be read as a journal ({error}): start again.") from None
    if suite.schema != FLAKE:
        raise UserError(f'{path} was written by another gpudx (schema "{suite.schema}"): use that one, or start again.')
    return _same(suite), _in_order(_batches(lines[1:], path))


def _batches(lines: list[str], path: Path) -> list[Batch]:
    made: list[Batch] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            made.append(casefile.decode(Batch, json.loads(line), "run"))
            continue
        _mend(path, lines, len(made))
        break
    return made


def _in_order(made: list[Batch]) -> list[Batch]:
    """By number, each once; a journal from before runs had numbers has them in their order."""
    numbers: dict[int, Batch] = {}
    for place, batch in enumerate(made, 1):
        numbers.setdefault(batch.number or place, replace(batch, number=batch.number or place))
    return [numbers[number] for number in sorted(numbers)]


def _mend(path: Path, lines: list[str], good: int) -> None:
    """Whole lines only, so that the next one does not join a torn one."""
    head = path.read_text(encoding="ascii").splitlines()[: good + 1]
    casefile.write_whole(path, "\n".join(head) + "\n")


def _same(suite: Suite) -> Suite:
    try:
        os.chdir(suite.folder)
    except OSError as error:
        raise UserError(f"{suite.folder}, where the tests are run, does not exist ({error.strerror}).") from None
    if trials.identity(suite.command) != suite.program:
        raise UserError("The program was changed since, so its runs do not belong together: start again.")
    return suite
