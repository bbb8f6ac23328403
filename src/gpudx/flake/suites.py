"""A suite of tests, run as a wish says: chosen, ordered, beside a load or not, recorded; and what became of each test."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from gpudx.flake.runners import BLACK_BOX, LONGEST_TEXT, Results, Selection, every
from gpudx.lab import load
from gpudx.lab.experiments.one_thread import VARIABLES
from gpudx.lab.experiments.recorder_settings import PERTURB
from gpudx.lab.outcome import outcome
from gpudx.lab.recorded import RunResult, run_recorded
from gpudx.lab.strangers import strangers
from gpudx.lab.trials import NOT_STARTED, OUTPUT, RUNS, Interrupted, tail
from gpudx.model.flake import (
    ALONE,
    AMONG,
    BAD,
    CRASHED,
    EVERY,
    FAILED,
    HUNG,
    MANY,
    NOT_RUN,
    ONE,
    PASSED,
    REVERSED,
    SHUFFLED,
    SWEEP,
    Batch,
    Condition,
    Look,
    Suite,
)
from gpudx.model.how import How

LookAt = Callable[[RunResult, list[str], Path], Look | None]
NUMBER = "{}"  # stands for the number of threads in the user's words


class CannotStart(Exception):
    """The command could not be started: neither a pass nor a failure."""


class Lost(Exception):
    """A run was begun and its result will not come: neither a pass nor a failure. The text says why the study stops."""


@dataclass(frozen=True)
class Asked:
    """A run that is wanted."""

    number: int
    condition: Condition
    tests: tuple[int, ...]  # empty: the whole suite
    purpose: str
    look: bool
    timeout: float


def describe(suite: Suite, runner: ModuleType) -> Suite:
    """The suite with the conditions that can be had, and why others cannot."""
    swept = [way.name for way in SWEEP]
    missing = {name: why for name in EVERY if name not in swept and (why := _why_not(suite, runner, name))}
    below = [way.name for way in SWEEP if MANY.name not in missing and (way.threads or 0) < suite.threads]
    had = [name for name in EVERY if name not in missing and (name not in swept or name in below)]
    return replace(suite, conditions=tuple(had), missing=tuple(missing.items()))


def _why_not(suite: Suite, runner: ModuleType, name: str) -> str:
    """ "" if a condition can be had."""
    several, threads = len(suite.tests) > 1, bool(suite.parallel_is)
    if name == MANY.name and not threads:
        return "this runner cannot run tests in parallel; name its option with --parallel OPTION"
    if name == ONE.name and not (threads and suite.plain_parallel):
        return "the same as as-is: it runs one test at a time"
    if name in (SHUFFLED.name, REVERSED.name, ALONE.name) and not several:
        return "there is only one test"
    if name == REVERSED.name and not suite.ordered:
        return "this runner has its own order"
    if name == SHUFFLED.name and not (suite.ordered or getattr(runner, "SHUFFLES", False)):
        return "this runner has its own order"
    return ""


class SuiteLab:
    """Runs parts of one suite, one at a time, on this machine. `look_at` reads the record of a run."""

    places = 1

    def __init__(self, suite: Suite, folder: Path, look_at: LookAt) -> None:
        self._suite, self._folder, self._look_at = suite, folder, look_at
        self._runner = every()[suite.runner]
        self._numbers = {name: number for number, name in enumerate(suite.tests)}

    def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
        """Each run as it ends."""
        return map(self.run, asked)

    def run(self, asked: Asked) -> Batch:
        """One run. Interrupted when somebody wanted to end it; CannotStart when there was nothing to count."""
        folder = self._folder / RUNS / f"{asked.number:04}-{asked.condition.name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        order = self._order(asked)
        words, environment = self.command(self._selection(asked, order, folder))
        words += self._runner.report(self._selection(asked, order, folder))
        how = self._how(asked, environment, folder)
        before = strangers()
        with self._load(asked.condition):
            run = run_recorded(words, folder, how)
        if run.interrupted:
            raise Interrupted
        batch = self._read(
            asked, order, run, self._runner.results(self._selection(asked, order, folder), folder / OUTPUT)
        )
        if not run.timed_out and run.returncode in NOT_STARTED and not _known(batch):
            raise CannotStart("; ".join(tail(folder, 1)) or "it printed nothing")
        batch = replace(batch, strangers=tuple(dict.fromkeys((*before, *strangers()))))
        return self._looked(asked, batch, run, words, folder)

    def command(self, selection: Selection) -> tuple[list[str], dict[str, str]]:
        """The words that run a selection, and variables."""
        option, threads = self._suite.parallel_option, selection.threads
        if option and threads is not None:
            told = option.replace(NUMBER, str(threads))
            words = self._runner.start(self._suite.command, replace(selection, threads=None))
            name, is_variable, value = told.partition("=")
            if is_variable and name.isidentifier():
                return words, {name: value}
            return [*words, *told.split()], {}
        return self._runner.start(self._suite.command, selection), {}

    def chosen(self, tests: Sequence[int], parallel: bool) -> list[str]:
        """The words with which a person runs these tests."""
        names = tuple(self._suite.tests[t] for t in tests) or None
        threads = (self._suite.threads if parallel else 1) if self._suite.parallel_is else None
        words, environment = self.command(Selection(names if self._has_tests else None, threads, None, self._folder))
        return [*(["env"] if environment else []), *(f"{n}={v}" for n, v in environment.items()), *words]

    @property
    def _has_tests(self) -> bool:
        return self._suite.runner != BLACK_BOX

    def _order(self, asked: Asked) -> tuple[int, ...]:
        """The tests in the order of this run."""
        order = list(asked.tests or range(len(self._suite.tests)))
        if self._suite.ordered and asked.condition.order == "reversed":
            order.reverse()
        if self._suite.ordered and asked.condition.order == "shuffled":
            random.Random(f"{self._suite.lot} {asked.number}").shuffle(order)
        return tuple(order)

    def _selection(self, asked: Asked, order: tuple[int, ...], folder: Path) -> Selection:
        way = asked.condition
        all_as_given = not asked.tests and (way.order == "given" or not self._suite.ordered)
        names = None if all_as_given or not self._has_tests else tuple(self._suite.tests[t] for t in order)
        threads = self._suite.threads if way.threads == 0 else way.threads
        if not self._suite.parallel_is:
            threads = None
        seed = asked.number if way.order == "shuffled" and not self._suite.ordered else None
        return Selection(names, threads, seed, folder)

    def _how(self, asked: Asked, environment: dict[str, str], folder: Path) -> How:
        way = asked.condition
        perturb = {PERTURB: str(asked.number)} if way.perturb else {}
        pools = dict.fromkeys(VARIABLES, "1") if way.threads == 1 and self._suite.runner == BLACK_BOX else {}
        return How(
            timeout=asked.timeout,
            serialise=way.serialise,
            extra_env={**pools, **environment, **perturb},
            output=folder / OUTPUT,
        )

    def _load(self, condition: Condition) -> contextlib.AbstractContextManager[None]:
        return load.busy(self._suite.command, os.environ) if condition.busy else contextlib.nullcontext()

    def _read(self, asked: Asked, order: tuple[int, ...], run: RunResult, found: Results) -> Batch:
        died = found.died or run.timed_out or run.returncode is None or run.returncode < 0
        died |= bool(found.running and run.returncode)
        running = found.running & self._numbers.keys()
        unknown = died and not running and any(self._suite.tests[t] not in found.marks for t in order)
        marks = "".join(self._mark(self._suite.tests[t], found, run, len(running)) for t in order)
        if self._suite.runner == BLACK_BOX:
            marks, died, running = self._whole(run), False, set()
        ran = tuple(self._numbers[name] for name in dict.fromkeys(found.order) if name in self._numbers)
        texts = {str(self._numbers[n]): text[:LONGEST_TEXT] for n, text in found.texts.items() if n in self._numbers}
        listed = () if order == tuple(range(len(self._suite.tests))) else order
        return Batch(
            condition=asked.condition.name,
            marks=marks,
            tests=listed,
            purpose=asked.purpose,
            order=() if ran == order else _completed(ran, order),
            ending=outcome(run).word,
            seconds=run.duration_s,
            number=asked.number,
            folder=f"{RUNS}/{asked.number:04}-{asked.condition.name}",
            texts=texts,
            died=died and (len(running) > 1 or unknown),
        )

    def _whole(self, run: RunResult) -> str:
        """A command without tests: it passes, fails, crashes or hangs as one."""
        if run.timed_out or run.returncode is None:
            return HUNG
        return PASSED if run.returncode == 0 else CRASHED if run.returncode < 0 else FAILED

    def _mark(self, name: str, found: Results, run: RunResult, running: int) -> str:
        if name in found.marks:
            return found.marks[name]
        if name not in found.running:
            return NOT_RUN
        if running > 1:
            return AMONG
        return HUNG if run.timed_out else CRASHED if run.returncode else NOT_RUN

    def _looked(self, asked: Asked, batch: Batch, run: RunResult, words: list[str], folder: Path) -> Batch:
        """The record is read where it was asked for, and only kept where it was read."""
        bad = batch.died or any(mark in BAD for mark in batch.marks)
        if asked.look and (bad or asked.condition == ALONE):
            return replace(batch, look=self._look_at(run, words, folder))
        if asked.number == 1:  # whether the suite makes GPU calls at all
            return replace(batch, look=self._look_at(run, words, folder))
        shutil.rmtree(folder / "traces", ignore_errors=True)
        if not bad:
            shutil.rmtree(folder, ignore_errors=True)
        return batch


def _known(batch: Batch) -> bool:
    return any(mark != NOT_RUN for mark in batch.marks)


def _completed(ran: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Those that ran, in their order, then the rest."""
    seen = set(ran)
    wanted = set(order)
    return (*(t for t in ran if t in wanted), *(t for t in order if t not in seen)) if ran else ()
