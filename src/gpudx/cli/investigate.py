"""gpudx investigate: run a failing program in different ways, and decide between the causes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpudx.cli import investigate_options
from gpudx.cli.engine import Address, Engine, EngineOption, PerTrialCpus, PerTrialGpus, share
from gpudx.cli.given import given, joined
from gpudx.cli.options import Budget, CaseAsJson, HangAfter, NewCase, Quiet
from gpudx.cli.probing import Probe, probes
from gpudx.cli.speak import clear_line, hush, renew, say
from gpudx.cli.times import EXAMPLES, seconds
from gpudx.errors import UserError
from gpudx.text.places import shortest

if TYPE_CHECKING:
    from gpudx.investigate.choice import Plan
    from gpudx.investigate.laboratory import Laboratory
    from gpudx.investigate.observed import Observed
    from gpudx.lab.ray_cluster import Share
    from gpudx.model import Asked, Case, Given, Investigation
    from gpudx.model.how import How

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command
INTERRUPTED = 130
COMPARED = "whether the failure rate is another one"  # said of an experiment that separates causes by their rates
PLAIN_RUNS = "recorded"
AT_SITES = ("held", "edge", "held-edge")  # experiments at the two calls of an order finding


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    budget_s: float
    runs: int | None
    only: tuple[str, ...]
    without: tuple[str, ...]
    timeout: float | None
    confidence: float
    asked: Asked
    options: Given
    part: Share | None = None  # of a cluster, for each run


def command(
    context: click.Context,
    program: investigate_options.ProgramOrCase = None,
    budget: Budget = "120s",
    runs: investigate_options.Runs = None,
    only: investigate_options.Only = None,
    without: investigate_options.Without = None,
    timeout: HangAfter = None,
    confidence: investigate_options.Confidence = 99.0,
    vary: investigate_options.Vary = "",
    rebuild: investigate_options.Rebuild = "",
    revision: investigate_options.Revision = "",
    build: investigate_options.Build = "",
    wait_at: investigate_options.WaitAt = "",
    check: investigate_options.Check = "",
    compare: investigate_options.Compare = "",
    expect: investigate_options.Expect = "",
    perturb: investigate_options.Perturb = False,
    probe: Probe = None,
    engine: EngineOption = Engine.local,
    address: Address = None,
    per_trial_gpus: PerTrialGpus = None,
    per_trial_cpus: PerTrialCpus = None,
    case: NewCase = None,
    quiet: Quiet = False,
    as_json: CaseAsJson = False,
) -> None:
    """Run a failing program in different ways until the cause is found.

    The program's output goes to files in the case; it gets no input.

    \b
        gpudx investigate -- ./app args...
        gpudx investigate --expect 'max error: 0' -- ./app   # its result is wrong
        gpudx investigate --budget 10m --without one-processor -- python test.py
        gpudx investigate --vary N=256,1024,4096 -- ./app --rows {N}
        gpudx investigate --wait-at 'reduce*,3' -- ./app     # or the third launch
        gpudx investigate --perturb -- ./app                 # does a race matter?
        gpudx investigate --probe 'ENTER gemm' -- ./run.sh   # did this code run?
        gpudx investigate --rebuild 'make -B CFLAGS=-O0' -- ./app
        gpudx investigate --revision v1.2 --build make -- ./app
        gpudx investigate --engine ray --address 10.0.0.1:6379 -- ./app
        gpudx investigate gpudx-cases/20261115T101112Z-app-1a2b   # go on with it

    Exit status: 0 if a cause is confirmed, 1 if none is, 130 if it was interrupted.
    """
    from gpudx import casefile
    from gpudx.cli.cases import new_case
    from gpudx.model import Asked

    if not program:
        raise UserError("There is no program to investigate: write it after --, as in `gpudx investigate -- ./app`.")
    hush(quiet)
    asked = Asked(vary, rebuild, revision, build, wait_at, probes(probe), check, compare, expect)
    left = ((*(only or ()), *(AT_SITES if perturb else ())), tuple(without or ()))
    wanted = Wanted(budget_seconds(budget), runs, *left, timeout, confidence / 100, asked, given(context))
    wanted = replace(wanted, part=share(engine, address, per_trial_gpus, per_trial_cpus))
    if (Path(program[0]) / casefile.NAME).is_file():
        if len(program) > 1:
            raise UserError(f"Put options before the case: gpudx investigate {' '.join(program[1:])} {program[0]}")
        done = _go_on(Path(program[0]).absolute(), wanted)
    else:
        with new_case(case, *program) as directory:
            done = _begin(directory, program, wanted)
    from gpudx.cli.page import result
    from gpudx.cli.running import remember

    remember(done, quiet=quiet)
    if not quiet:
        sys.stdout.write(result(done, as_json))
    _end(done)


def budget_seconds(text: str) -> float:
    """ "90", "90s", "10m" or "2h" in seconds."""
    try:
        return seconds(text)
    except ValueError:
        raise UserError(f"--budget {text} is not a time: {EXAMPLES}.") from None


def _begin(directory: Path, words: list[str], wanted: Wanted) -> Case:
    from gpudx.investigate.laboratory import new
    from gpudx.lab import program as programs
    from gpudx.model.how import How

    _put_back(words[0])
    # Only stacks have the lines of Python; they are taken before a call, so that what follows it is not delayed.
    lab = _laboratory(directory, words, How(timeout=wanted.timeout, stacks=programs.runs_python(words)), wanted)
    programs.find(list(lab.context.command))
    state = new(lab.context.command, wanted.confidence, words, wanted.asked)
    return _investigate(lab, replace(state, options=wanted.options), wanted)


def _laboratory(directory: Path, words: Sequence[str], how: How, wanted: Wanted) -> Laboratory:
    from gpudx.investigate.laboratory import open_laboratory

    return open_laboratory(directory, tuple(words), how, wanted.budget_s, wanted.only, wanted.without, wanted.asked)


def _put_back(name: str) -> None:
    """Before anything looks at the program: a crash of ours may have left another build in its place."""
    from gpudx.lab.kept_aside import put_back

    if put_back(name):
        say(f"restored {name}: an interrupted investigation had left another build in its place")


def _go_on(directory: Path, wanted: Wanted) -> Case:
    """The case of `gpudx run` counts as the first run; that of an investigation has all of its runs."""
    from gpudx import casefile
    from gpudx.investigate.laboratory import begun, new, taken_up
    from gpudx.model.how import How

    case = casefile.read(directory)
    earlier, words = case.investigation, case.command
    if earlier:
        wanted = replace(wanted, asked=_as_before(earlier, wanted.asked))
        words = earlier.command or words
    _put_back(os.path.join(earlier.folder, words[0]) if earlier and "/" in words[0] else words[0])
    state = taken_up(earlier, case.command) if earlier else new(case.command, wanted.confidence, words, wanted.asked)
    lab = _laboratory(directory, words, How(timeout=wanted.timeout, extra_env=case.environment), wanted)
    state = replace(state, asked=wanted.asked) if earlier else begun(case, state)
    state = replace(state, options=joined(state.options, wanted.options))
    lab.remember(state)
    return _investigate(lab, state, wanted)


def _as_before(earlier: Investigation, asked: Asked) -> Asked:
    """Runs that belong together were asked for in the same words; new words may join them."""
    for name, old in asdict(earlier.asked).items():
        if old and getattr(asked, name) not in ("", (), old):
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"This case has runs with {option} {old!r}: leave {option} out, or start a new investigation.")
    return replace(earlier.asked, **{name: new for name, new in asdict(asked).items() if new})


def _investigate(lab: Laboratory, state: Investigation, wanted: Wanted) -> Case:
    from gpudx import casefile
    from gpudx.investigate.conclude import conclude
    from gpudx.investigate.hangs import with_counts
    from gpudx.investigate.laboratory import first_failing
    from gpudx.investigate.loop import Limits, investigate
    from gpudx.investigate.two_causes import with_second_cause

    def keep(state: Investigation) -> None:
        casefile.write(with_counts(conclude(first_failing(lab.folder, state), state), state, lab.folder), lab.folder)

    with _engine(lab, wanted) as lab:
        renew(f"investigating{_at_a_time(lab)}; the program's output goes to {shortest(lab.folder)}", begins=True)
        limits = Limits(wanted.budget_s, wanted.runs)
        state = investigate(state, lab, limits, keep, _progress)
        state = with_second_cause(state, lab, limits, keep, _progress)
    clear_line()
    if not state.trials and state.stopped == "interrupted":
        raise UserError("It was interrupted in its first run: nothing is known yet.", INTERRUPTED)
    if not state.trials:
        raise UserError("The program did not end within the budget: give a larger one, or --timeout 30s if it hangs.")
    keep(state)
    return casefile.read(lab.folder)


@contextlib.contextmanager
def _engine(lab: Laboratory, wanted: Wanted) -> Iterator[Laboratory]:
    """The lab, ready to make runs here or on a cluster."""
    if wanted.part is None:
        with lab:
            yield lab
        return
    from gpudx.investigate.ray_laboratory import RayLaboratory, refuse_shared_files
    from gpudx.lab.ray_cluster import joined

    refuse_shared_files(lab.context.asked)
    with joined(wanted.part) as cluster, RayLaboratory.of(lab, cluster) as spread:
        yield spread


def _at_a_time(lab: Laboratory) -> str:
    return f", up to {lab.places} runs at a time" if lab.places > 1 else ""


def _progress(plan: Plan, seen: Observed, left: float) -> None:
    """What is run, and last, where a narrow terminal cuts the line, why."""
    so_far = f", {seen.text} so far" if seen.trials else ""
    why = f" ({plan.why or COMPARED})" if plan.why or plan.experiment != PLAIN_RUNS else ""
    number = len(seen.trials) + 1
    total = f" of {'' if plan.why else 'at most '}{plan.runs}" if plan.runs >= number else ""
    renew(f"{left:.0f} s left; {plan.experiment}, run {number}{total}{so_far}{why}")


def _end(case: Case) -> None:
    stopped = case.investigation.stopped if case.investigation else ""
    if stopped == "interrupted":
        raise click.exceptions.Exit(INTERRUPTED)
    raise click.exceptions.Exit(0 if any(entry.status == "confirmed" for entry in case.diagnosis) else 1)
