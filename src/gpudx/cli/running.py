"""Run a program, find out why it failed, and say so: what `gpudx run` and `gpudx demo` share."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.cli.speak import complain, lines, say, show, shown_on
from gpudx.errors import UserError, keep
from gpudx.lab.recorded import TRACES, RunResult, run_recorded
from gpudx.model.how import How

if TYPE_CHECKING:
    from gpudx.model import Case
    from gpudx.model.how import Simulator
    from gpudx.pipeline import Stated

LOADING_NICE = 5
OPINION_S = 600.0  # for a run on a simulator, if the user gives no --timeout


@dataclass(frozen=True)
class Told:
    """A run and what was made of it; `case` is None when the analysis could not be done."""

    run: RunResult
    case: Case | None


def run_and_tell(
    command: list[str],
    case_dir: Path,
    how: How,
    quiet: bool = False,
    stated: Stated | None = None,
    patience_s: float = 0,
    second: Simulator | None = None,
    as_json: bool = False,
    typed: list[str] | None = None,
) -> Told:
    """Run `command`, write the case, report on stderr. A failing analysis never hides how the program ended.

    `patience_s`: say so when the program has made no progress for that long; 0: never. `second`: another run there.
    `typed`: what a user types for `command`, which next steps repeat; None: the same.
    """
    ended = threading.Event()
    analysis = threading.Thread(target=_load_analysis, args=(ended,), daemon=True)
    progress = _watchdog(case_dir, patience_s) if patience_s and not quiet else None
    run = run_recorded(command, case_dir, how, progress, analysis.start)
    ended.set()
    analysis.join()
    case = _diagnose(run, typed or command, case_dir, stated)
    if case is not None:
        case = _look_again(case, command, case_dir, how, quiet)
        case = _reserved(case) if how.kernel_checks else case
    if case is not None and second is not None:
        case = _second_opinion(case, command, case_dir, replace(how, simulator=second, kernel_checks=None), quiet)
    if case is not None and not quiet:
        tell(case, as_json=as_json)
    return Told(run, case)


# Modules of the analysis, in the order in which they import each other; numpy loads the last when `unique` is first called.
ANALYSIS = ("numpy", "gpudx.facts", "gpudx.identity", "gpudx.diagnose", "gpudx.pipeline", "numpy.ma")


def _load_analysis(ended: threading.Event) -> None:
    """Imports the modules of the analysis while the program runs, at a lower priority than the program's: half a verdict's time.
    What is not imported when the program ends, the analysis imports at its own priority."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOADING_NICE)
    with contextlib.suppress(Exception):  # the analysis imports them again, and reports what is wrong
        for name in ANALYSIS:
            if ended.is_set():
                return
            importlib.import_module(name)
        importlib.import_module("gpudx.detectors").every()


def _watchdog(case_dir: Path, patience_s: float) -> Callable[[float], None]:
    """Loaded only when a program has run for some time: most end before."""
    made: list[Callable[[float], None]] = []

    def look(elapsed: float) -> None:
        if elapsed < patience_s / 2:
            return
        if not made:
            from gpudx.live.watchdog import Watchdog

            made.append(Watchdog(case_dir / TRACES, say, patience_s).look)
        made[0](elapsed)

    return look


def _diagnose(run: RunResult, command: list[str], case_dir: Path, stated: Stated | None = None) -> Case | None:
    try:
        return analyse(run, command, case_dir, stated)
    except KeyboardInterrupt:
        complain(UserError(f"The analysis was interrupted; the recording is in {case_dir}."))
    return None


def analyse(run: RunResult, command: list[str], case_dir: Path, stated: Stated | None = None) -> Case | None:
    """The case of a run; None, and a line on stderr, when the analysis could not be done."""
    try:
        from gpudx.pipeline import diagnose_run

        made = diagnose_run(run, command, case_dir, stated) if stated else diagnose_run(run, command, case_dir)
        return made.case
    except UserError as error:
        complain(error)
    except Exception:
        # A bug of ours: the program's own exit status matters more than our traceback.
        complain(UserError(f"The analysis failed, which is a bug in gpudx: please report {keep(case_dir, traceback.format_exc())}."))
    return None


def _look_again(first: Case, command: list[str], case_dir: Path, how: How, quiet: bool) -> Case:
    """After a watched run in which a launch changed what it was not passed: another one, that names the launch."""
    if how.watch is None or not how.watch.again or how.serialise:
        return first
    from gpudx.diagnose.watched_runs import AGAIN, unnamed

    sizes = unnamed(first)
    if not sizes:
        return first
    if not quiet:
        say("launches changed memory that they were not passed: running again to check each launch")
    closer = replace(how, serialise=True, stacks=True, watch=replace(how.watch, again=False, sizes=sizes))
    run = run_recorded(command, case_dir / AGAIN, closer)
    second = _diagnose(run, command, case_dir / AGAIN)
    if second is None:
        return first
    from gpudx.pipeline import join

    return join(first, second)


def _reserved(case: Case) -> Case:
    """One run does not show whether uninitialized memory that a kernel read matters."""
    from gpudx.diagnose.single_runs import reserved

    doubted = reserved(case)
    if doubted is case:
        return case
    from gpudx.pipeline import written

    return written(doubted)


def _second_opinion(first: Case, command: list[str], case_dir: Path, how: How, quiet: bool) -> Case:
    """The same program once more, on Oclgrind. What it prints there goes to a file."""
    from gpudx.diagnose import simulated_runs
    from gpudx.pipeline import written

    folder = case_dir / "second"
    folder.mkdir(exist_ok=True)
    if not quiet:
        say("running the program again on Oclgrind, a simulator: this can take hundreds of times longer")
    limit = how.timeout or max(OPINION_S, 2 * first.outcome.duration_s)
    run = run_recorded(command, folder, replace(how, timeout=limit, output=folder / "output.txt"))
    second = _diagnose(run, command, folder)
    return first if second is None else written(simulated_runs.joined(first, second))


def tell(case: Case, less: int = 0, as_json: bool = False) -> None:
    """The first screen, or one line, on stderr: stdout belongs to the program. So many lines less, where others follow it."""
    from gpudx.report.brief import needs_report, one_line

    if as_json:
        from gpudx.report import render

        show(render(case, "json"))
        return
    if not needs_report(case):
        show(lines(one_line(case)))
        return
    from gpudx.cli.page import first_screen, page_of

    show(first_screen(case, page_of(shown_on()), less))


def remember(case: Case | None, quiet: bool) -> None:
    """Add the case to the list of cases; that this could not be done is one line, and no failure."""
    from gpudx.cases import index

    problem = index.remember(case) if case else None
    if problem and not quiet:
        complain(UserError(problem))
