"""Is a fix a fix? Runs in rounds until it can be told: the loop between the lab, which runs, and the judgement.

Each run is written down as soon as it has ended, so that an interruption costs only the run it falls into.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpudx import casefile
from gpudx.errors import UserError
from gpudx.lab import program, trials
from gpudx.lab.trials import Analyse
from gpudx.model.verification import VERIFICATION, Condition, Question, Trial, Verification
from gpudx.verify import tally
from gpudx.verify.sentences import judgement
from gpudx.verify.tally import Tally

STATE = "verify.json"
SHORTEST_S = 0.001


@dataclass(frozen=True)
class Limits:
    """How much may be spent in this session."""

    rounds: int
    seconds: float


@dataclass(frozen=True)
class Watcher:
    """Who is told how it goes."""

    analyse: Analyse
    waits: Callable[[str, Tally, float], None]  # what is running, what is known, seconds that may be left
    ran: Callable[[Trial, Sequence[Trial]], None]  # a run has ended; the earlier ones


class Verifier:
    """A verification that can be stopped and taken up again."""

    def __init__(self, state: Verification, case_dir: Path, limits: Limits, watcher: Watcher) -> None:
        self.state = state
        self._case_dir = case_dir
        self._limits = limits
        self._watcher = watcher
        self._start = time.monotonic()
        self._spent = 0  # rounds of this session
        self._cut: tuple[str, ...] = ()  # the sentence for a run that the budget ended
        self._files = self._stamps()

    def run(self) -> Verification:
        """Run rounds until it can be told, or the limits are reached."""
        self._keep(self.state)  # even the first run can be interrupted
        while True:
            seen = self.tally()
            found = tally.answer(seen, self._is_over())
            if found:
                told = judgement(seen, found)
                self._keep(replace(self.state, judgement=replace(told, because=(*told.because, *self._cut))))
                return self.state
            self._round()

    def tally(self) -> Tally:
        """The runs so far, counted."""
        return Tally(self.state.question, self.state.trials)

    def _round(self) -> None:
        """The runs that are missing from the first round that is not complete."""
        done = {(t.round, t.condition) for t in self.state.trials}
        number = 1 + len(self.tally().rounds)
        question = self.state.question
        for condition in trials.order(question.lot, number, question.commands):
            if (number, condition) not in done and not self._cut:
                self._run(condition, number)
        self._spent += 1

    def _run(self, condition: Condition, number: int) -> None:
        """One run. What the budget ends is neither a pass nor a failure."""
        question, seen = self.state.question, self.tally()
        limit = min(max(self._seconds_left(), SHORTEST_S), question.timeout or math.inf)

        def progress(seconds: float) -> None:
            self._watcher.waits(f"round {number}, {condition}", seen, self._seconds_left())

        progress(0)
        self._check_unchanged(condition)
        words = question.commands[condition]
        trial = trials.run_trial(condition, number, words, self._case_dir, limit, self._watcher.analyse, progress)
        if trial.ending == "timeout" and limit != question.timeout:
            self._cut = (CUT.format(condition=condition),)
            return
        trials.forget(trial, self.state.trials, self._case_dir)
        self._watcher.ran(trial, self.state.trials)
        self._keep(replace(self.state, trials=(*self.state.trials, trial)))

    def _is_over(self) -> bool:
        """Is there no room for another round?"""
        mean = (time.monotonic() - self._start) / self._spent if self._spent else 0.0
        return bool(self._cut) or self._spent >= self._limits.rounds or self._seconds_left() <= mean

    def _seconds_left(self) -> float:
        return self._limits.seconds - (time.monotonic() - self._start)

    def _stamps(self) -> dict[str, tuple[int, int]]:
        return {condition: self._stamp(words) for condition, words in self.state.question.commands.items()}

    def _stamp(self, words: Sequence[str]) -> tuple[int, int]:
        found = os.stat(program.find(list(trials.split(words)[1])))
        return found.st_mtime_ns, found.st_size

    def _check_unchanged(self, condition: Condition) -> None:
        if self._stamp(self.state.question.commands[condition]) != self._files[condition]:
            raise UserError(CHANGED.format(condition=condition))

    def _keep(self, state: Verification) -> None:
        self.state = state
        casefile.write_whole(self._case_dir / STATE, json.dumps(casefile.encode(state), indent=1) + "\n")


CUT = "The last run of --{condition} did not end within the budget and is not counted; with --timeout TIME a hang is a failure."
CHANGED = "The program of --{condition} was changed since the verification began, so its runs do not belong together: verify again."


def take_up(case_dir: Path) -> Verification:
    """What was learned before. The programs must be the same files as then."""
    path = case_dir / STATE
    try:
        state = casefile.decode(Verification, json.loads(path.read_text()), "verification")
    except FileNotFoundError:
        raise UserError(
            f"There is no verification in {case_dir}: give the directory that `gpudx verify` named."
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as a verification ({error}): start a new verification.") from None
    assert isinstance(state, Verification)
    if state.schema != VERIFICATION:
        raise UserError(f'{path} was written by another gpudx (schema "{state.schema}"): use that one, or start a new verification.')
    _check_same(state.question)
    return state


def _check_same(question: Question) -> None:
    try:
        os.chdir(question.folder)
    except OSError as error:
        raise UserError(f"{question.folder}, where the commands are run, does not exist ({error.strerror}).") from None
    for condition, words in question.commands.items():
        if trials.identity(words) != question.programs.get(condition):
            raise UserError(CHANGED.format(condition=condition))
