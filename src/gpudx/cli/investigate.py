"""gpudx investigate: run a failing program in different ways, and decide between the causes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.engine import Address, Engine, EngineOption, PerTrialCpus, PerTrialGpus, share
from gpudx.cli.given import given, joined
from gpudx.cli.probing import Probe, probes
from gpudx.cli.speak import clear_line, hush, renew, say
from gpudx.cli.times import EXAMPLES, duration, seconds
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.investigate.choice import Plan
    from gpudx.investigate.laboratory import Laboratory
    from gpudx.investigate.observed import Observed
    from gpudx.lab.ray_cluster import Share
    from gpudx.model import Asked, Case, Given, Investigation
    from gpudx.model.how import How

SETTINGS = {"allow_interspersed_args": False}  # options after the command belong to the command
INTERRUPTED = 130
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
    program: Annotated[
        list[str],
        Argument(metavar="CMD | CASE", help="The program and its arguments, after --; or a case to continue."),
    ],
    budget: Annotated[str, Option(metavar="TIME", help="Stop after this time: 90s, 10m, 2h.")] = "120s",
    runs: Annotated[int | None, Option(min=1, metavar="N", help="Stop after N runs.")] = None,
    only: Annotated[list[str] | None, Option(metavar="EXPERIMENT", help="Run only EXPERIMENT. May be repeated.")] = None,
    without: Annotated[list[str] | None, Option(metavar="EXPERIMENT", help="Skip EXPERIMENT. May be repeated.")] = None,
    timeout: Annotated[
        float | None,
        Option(
            parser=duration,
            metavar="TIME",
            help="A run that takes longer counts as a hang: 30s, 2m. [ten times the longest]",
        ),
    ] = None,
    confidence: Annotated[float, Option(min=50, max=99.999, metavar="PERCENT", help="Confidence of the verdicts.")] = 99.0,
    vary: Annotated[
        str,
        Option(
            metavar="NAME=V1,V2", help="Also run with each value of the variable NAME, or of {NAME} in CMD; the last value must fail."
        ),
    ] = "",
    rebuild: Annotated[
        str, Option(metavar="CMD", help="Also run another build of the program, made by this shell command.")
    ] = "",
    revision: Annotated[str, Option(metavar="REV", help="Also run the program built from this git revision.")] = "",
    build: Annotated[str, Option(metavar="CMD", help="With --revision: the shell command that builds it.")] = "",
    wait_at: Annotated[
        str,
        Option(metavar="KERNEL", help="Also run with a wait only before, and only after, launches of KERNEL."),
    ] = "",
    check: Annotated[
        str,
        Option(metavar="CMD", help="A run is wrong if this shell command fails; $GPUDX_OUTPUT names the file with its output."),
    ] = "",
    compare: Annotated[
        str,
        Option(metavar="[FILE=]GOOD", help="A run is wrong if its output, or FILE, differs from the file GOOD."),
    ] = "",
    expect: Annotated[str, Option(metavar="REGEX", help="A run is wrong if no line that it prints matches REGEX.")] = "",
    perturb: Annotated[
        bool,
        Option(
            "--perturb",
            help="Only test the two calls of a race: delay one, or make it wait for the other.",
        ),
    ] = False,
    probe: Probe = None,
    engine: EngineOption = Engine.local,
    address: Address = None,
    per_trial_gpus: PerTrialGpus = None,
    per_trial_cpus: PerTrialCpus = None,
    case: Annotated[Path | None, Option(metavar="DIR", help="Write the case to DIR. [./gpudx-cases/...]")] = None,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Write the case, print nothing.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the case as JSON.")] = False,
) -> None:
    """Run a failing program in different ways until the cause is found.

    What the program prints goes into files of the case, and it gets no input.

    \b
    gpudx investigate -- ./app args...
    gpudx investigate --budget 10m --without one-processor -- python test.py
    gpudx investigate --vary N=256,1024,4096 -- ./app --rows {N}
    gpudx investigate --wait-at 'reduce*,3' -- ./app    (kernels of this name; the third launch)
    gpudx investigate --perturb -- ./app                (tests whether a race that was found changes the outcome)
    gpudx investigate --expect 'max error: 0' -- ./app  (it exits with 0 and a wrong result)
    gpudx investigate --rebuild 'make -B CFLAGS=-O0' -- ./app
    gpudx investigate --revision v1.2 --build make -- ./app
    gpudx investigate --engine ray --address 10.0.0.1:6379 -- ./app    (several experiments at a time)
    gpudx investigate --probe 'ENTER gemm' -- ./run.sh    (checks that this code ran)
    gpudx investigate gpudx-cases/20261115T101112Z-app-1a2b    (a case of gpudx run, or one that was interrupted)

    Exit status: 0 if a cause is confirmed, 1 if none is, 130 if it was interrupted.
    """
    from gpudx import casefile
    from gpudx.cli.cases import new_case
    from gpudx.model import Asked

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
        with new_case(case, program[0]) as directory:
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
        say(f"{name} was another build, left by an investigation that was cut off; the program itself is back")


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
    from gpudx.investigate.laboratory import first_failing
    from gpudx.investigate.loop import Limits, investigate
    from gpudx.investigate.two_causes import with_second_cause

    def keep(state: Investigation) -> None:
        casefile.write(conclude(first_failing(lab.folder, state), state), lab.folder)

    with _engine(lab, wanted) as lab:
        say(f"investigating{_at_a_time(lab)}; what the program prints goes to {os.path.relpath(lab.folder)}")
        limits = Limits(wanted.budget_s, wanted.runs)
        state = investigate(state, lab, limits, keep, _progress)
        state = with_second_cause(state, lab, limits, keep, _progress)
    clear_line()
    if not state.trials and state.stopped == "interrupted":
        raise UserError("It was interrupted in its first run: nothing is known yet.", INTERRUPTED)
    if not state.trials:
        raise UserError("The program did not end within the budget: give a larger one, or --timeout S if it hangs.")
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
    """One line for each run."""
    so_far = f", {seen.text} so far" if seen.trials else ""
    why = f" ({plan.why})" if plan.why else ""
    number = len(seen.trials) + 1
    total = f" of {plan.runs}" if plan.runs >= number else ""
    text = f"{plan.experiment}{why}: run {number}{total}{so_far}; {left:.0f} s left"
    renew(text)


def _end(case: Case) -> None:
    stopped = case.investigation.stopped if case.investigation else ""
    if stopped == "interrupted":
        raise click.exceptions.Exit(INTERRUPTED)
    raise click.exceptions.Exit(0 if any(entry.status == "confirmed" for entry in case.diagnosis) else 1)
