"""gpudx flake: which tests are flaky, when, and because of what."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.engine import Address, Engine, EngineOption, PerTrialCpus, PerTrialGpus, share
from gpudx.cli.options import Budget, CaseAsJson, HangAfter, NewCase, Quiet
from gpudx.cli.speak import clear_line, hush, renew, say
from gpudx.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpudx.flake.asking import Wish
    from gpudx.flake.ledger import Ledger
    from gpudx.flake.loop import Limits, Runs
    from gpudx.lab.ray_cluster import Share
    from gpudx.model import Case
    from gpudx.model.flake import Batch, Suite

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command
NO_RUN = {
    "budget used up": "give a larger --budget, or --timeout 30s if tests hang",
    "interrupted": "no result yet",
}
THREADS = 8
INTERRUPTED = 130


def command(
    program: Annotated[
        list[str] | None,
        Argument(metavar="CMD", help="The tests: pytest, cargo test, ctest, a gtest or Catch2 binary, or any command."),
    ] = None,
    runs: Annotated[int | None, Option(min=1, metavar="N", help="Stop after N runs of the suite or of parts of it.")] = None,
    budget: Budget = "5m",
    parallel: Annotated[
        str,
        Option(metavar="OPTION", help="How to pass the number of threads to the tests: '--threads={}', 'THREADS={}'."),
    ] = "",
    threads: Annotated[int, Option(min=2, metavar="N", help="Run N tests at the same time in parallel runs.")] = THREADS,
    timeout: HangAfter = None,
    confidence: Annotated[float, Option(min=50, max=99.999, metavar="PERCENT", help="Confidence of each test's verdict.")] = 99.0,
    engine: EngineOption = Engine.local,
    address: Address = None,
    per_trial_gpus: PerTrialGpus = None,
    per_trial_cpus: PerTrialCpus = None,
    case: NewCase = None,
    resume: Annotated[Path | None, Option(metavar="CASE", help="Continue a study that was stopped.")] = None,
    quiet: Quiet = False,
    as_json: CaseAsJson = False,
) -> None:
    """Find flaky tests, the conditions in which they fail, and the cause.

    Runs the tests in one thread and in many, shuffled, reversed, each alone, and beside a second copy of the suite; then repeats only
    the runs that show what failing tests depend on. Their output goes to files in the case.

    \b
        gpudx flake -- pytest tests/gpu
        gpudx flake --budget 20m -- cargo test --release
        gpudx flake -- ctest --test-dir build
        gpudx flake --parallel '--threads={}' -- ./gtest_binary
        gpudx flake --engine ray --address 10.0.0.1:6379 -- pytest tests/gpu
        gpudx flake --resume gpudx-cases/20261115T101112Z-pytest-1a2b

    Exit status: 0 if no test failed, 1 if one did, 2 if gpudx cannot do what was asked, 130 if it was interrupted.
    """
    from gpudx.cli.cases import new_case
    from gpudx.cli.investigate import budget_seconds
    from gpudx.flake.loop import Limits, take_up

    hush(quiet)
    limits = Limits(budget_seconds(budget), runs, timeout)
    part = share(engine, address, per_trial_gpus, per_trial_cpus)
    if resume is not None:
        if program:
            raise UserError("--resume continues the command of that case: leave the command out.")
        place = resume.absolute()
        done = _study(place, *take_up(place), limits, part)
    elif program:
        with new_case(case, *program) as place:
            done = _study(place, _suite(program, parallel, threads, confidence / 100), [], limits, part)
    else:
        raise UserError("There are no tests to run: write the command after --, as in `gpudx flake -- pytest tests`.")
    _report(done, quiet, as_json)


def _suite(words: list[str], option: str, threads: int, confidence: float) -> Suite:
    """The tests of a command, and how they can be run."""
    from gpudx.flake.runners import runner_of
    from gpudx.flake.suites import NUMBER, describe
    from gpudx.lab import program, trials
    from gpudx.model.flake import Suite

    if option and NUMBER not in option:
        raise UserError(
            f"--parallel {option} has no {{}} for the number of threads: write for example '--threads={{}}'."
        )
    program.find(words)
    runner = runner_of(words)
    parallel = "threads" if option else runner.parallel(words)
    threads = threads if parallel == "threads" else min(threads, max(2, os.cpu_count() or 2))
    suite = Suite(
        command=tuple(words),
        runner=runner.ID,
        tests=tuple(runner.tests(words)),
        conditions=(),
        shares_process=runner.SHARES_PROCESS,
        ordered=runner.ORDERED,
        plain_parallel=bool(option) or runner.runs_parallel(words),
        parallel_is=parallel,
        threads=threads,
        parallel_option=option,
        confidence=confidence,
        folder=os.getcwd(),
        program=trials.identity(words),
        lot=secrets.randbits(32),
    )
    return describe(suite, runner)


@contextlib.contextmanager
def _lab(place: Path, suite: Suite, limits: Limits, part: Share | None) -> Iterator[Runs]:
    """What makes the runs."""
    from gpudx.flake.ray_engine import connected
    from gpudx.flake.record import look_at
    from gpudx.flake.suites import SuiteLab

    local = SuiteLab(suite, place, look_at)
    if part is None:
        yield local
    else:
        with connected(suite, local, place, part, limits.seconds) as lab:
            yield lab


def _study(place: Path, suite: Suite, batches: list[Batch], limits: Limits, part: Share | None) -> Case:
    from gpudx.flake.case import write_case
    from gpudx.flake.loop import JOURNAL, Flaker
    from gpudx.report.brief import near
    from gpudx.text import plural
    from gpudx.text.places import shortest

    with _lab(place, suite, limits, part) as lab:
        where = f", {lab.places} runs at a time" if lab.places > 1 else ""
        say(f"{plural(len(suite.tests), 'test')} ({suite.runner}){where}; their output goes to {shortest(place)}")
        flaker = Flaker(suite, lab, place / JOURNAL, limits, batches, _progress)
        result = flaker.run()
    clear_line()
    if not flaker.batches:
        raise UserError(
            f"No run ended ({result.stopped}): {NO_RUN.get(result.stopped, 'run the command there by itself')}."
        )
    if result.stopped == "interrupted":
        say(f"interrupted; to continue: {shlex.join(['gpudx', 'flake', '--resume', near(str(place))])}")
    return write_case(place, suite, result, flaker.batches)


def _progress(wishes: Sequence[Wish], ledger: Ledger, left: float, likely: float) -> None:
    """One line for each run."""
    failing, wish = len(ledger.suspects()), wishes[0]
    beside = f" and {len(wishes) - 1} more at the same time" if len(wishes) > 1 else ""
    some = f"{len(wish.tests)} tests" if len(wish.tests) > 1 else "1 test" if wish.tests else "all tests"
    about = f"; this takes about {likely:.0f} s" if likely else ""
    renew(f"{wish.phase}: {wish.condition.name}, {some}{beside}; {failing} failed so far; {left:.0f} s left{about}")


def _report(case: Case, quiet: bool, as_json: bool) -> None:
    from gpudx.cli.page import result
    from gpudx.cli.running import remember

    remember(case, quiet)
    if not quiet:
        sys.stdout.write(result(case, as_json))
    assert case.flake is not None
    if case.flake.stopped == "interrupted":
        raise click.exceptions.Exit(INTERRUPTED)
    raise click.exceptions.Exit(1 if case.flake.results else 0)
