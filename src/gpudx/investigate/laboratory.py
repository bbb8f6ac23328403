"""The lab of an investigation: runs an experiment on the program, has the run diagnosed, and says what it means.

Every run is a small case of its own below the investigation's (`runs/007-fenced`): gpudx report shows it. Traces of runs that
ended like an earlier one of the same experiment are not kept.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpudx import casefile, pipeline
from gpudx.diagnose import fenced_runs, runtime_words
from gpudx.errors import UserError
from gpudx.facts import Facts, copy_offsets, derive, exchangeable, transfers
from gpudx.facts.parts import can_be_apart
from gpudx.investigate import decisive, exchanged, ordered, same_failure, uninitialized
from gpudx.investigate.loop import OutOfTime, Result
from gpudx.lab import at_sites, criteria, trials
from gpudx.lab.experiments import (
    PLAIN,
    VARIANT,
    Context,
    Experiment,
    NotReached,
    Seen,
    base,
    every,
    mitigations,
    sized,
)
from gpudx.lab.recorded import TRACES, run_recorded
from gpudx.lab.trials import OUTPUT, RUNS, Interrupted
from gpudx.model import Asked, Case, Diagnosis, Investigation, Trial
from gpudx.model.how import How, Ways
from gpudx.trace import Trace, open_traces

BUG = "gpudx-error.txt"
PATIENCE = 10  # times the longest run so far: then a run hangs
LEAST_PATIENCE_S = 10.0
INSTRUMENT_PATIENCE_S = 30.0  # a tool that has found millions of faults takes its time
FIRST_PATIENCE = 0.4  # of the budget: a first run that has not ended by then, and does nothing any more, hangs
STILL_WORKING_S = 2.0  # a program that made a call so recently is slow, not stuck
SHORTEST_S = 0.001


@dataclass
class Laboratory:
    """Experiments on one program, in one case directory."""

    folder: Path
    context: Context
    budget_s: float
    only: Collection[str] = ()
    without: Collection[str] = ()
    began: float = field(default_factory=time.monotonic)
    longest: float = 0.0

    @property
    def threads(self) -> int:
        return self.context.threads

    @property
    def launches(self) -> int:
        return self.context.launches

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *ended: object) -> None:
        """What experiments made for their runs is taken away."""
        self.context.shelf.close()

    @property
    def costs(self) -> Mapping[str, float]:
        missing = {*self.not_run, PLAIN}
        able = {name: module for name, module in every().items() if name not in missing and not _is_asked(module)}
        return {one: float(module.COST) for n, module in able.items() for one in _variants(n, module, self.context)}

    @property
    def asked(self) -> tuple[str, ...]:
        """Experiments that the user's words make possible, each variant by itself."""
        missing = self.not_run
        modules = {name: module for name, module in every().items() if _is_asked(module) and name not in missing}
        return tuple(one for name, module in modules.items() for one in _variants(name, module, self.context))

    @property
    def is_planned(self) -> bool:
        return not self.only

    @property
    def mitigations(self) -> frozenset[str]:
        return mitigations()

    @property
    def not_run(self) -> Mapping[str, str]:
        """Experiments that cannot be run here, and why."""
        whys = {name: self._why_not(name, module) for name, module in every().items() if name != PLAIN}
        return {name: why for name, why in whys.items() if why}

    def _why_not(self, name: str, module: Experiment) -> str | None:
        if (self.only and name not in self.only) or name in self.without:
            return "left out on the command line"
        why: str | None = module.missing(self.context)
        return why

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def run(self, experiment: str, state: Investigation) -> Result:
        """One run. What goes wrong in it is told in its trial, and costs only this run."""
        number = len(state.trials) + 1
        name = f"{RUNS}/{number:03d}-{base(experiment)}"  # the value of a variant may be no name for a folder
        shutil.rmtree(self.folder / name, ignore_errors=True)  # left by a run that was cut off
        began = time.monotonic()
        try:
            case, trial = self._run(experiment, state, name)
        except (OutOfTime, Interrupted):
            raise
        except NotReached as error:
            return Result(
                Trial(
                    experiment, "not reached", "", time.monotonic() - began, folder=name, note=f"not reached: {error}"
                )
            )
        except Exception as error:
            if number == 1:
                raise
            note = _why_lost(error, self.folder / name)
            return Result(Trial(experiment, "tool missing", "", time.monotonic() - began, folder=name, note=note))
        if any((t.experiment, t.outcome) == (experiment, trial.outcome) for t in state.trials):
            shutil.rmtree(self.folder / name / TRACES, ignore_errors=True)
        trial = replace(trial, seconds=time.monotonic() - began)
        refused = decisive.refused_work(case) if experiment == PLAIN else ()
        return Result(trial, (*case.diagnosis, *refused), same_failure.failure(case), decisive.symptom(case))

    def _learn_patience(self, seconds: float, quiet: float = 0.0) -> None:
        """How long a run takes; of one that hung, until it made its last call."""
        busy = max(SHORTEST_S, seconds - quiet) if math.isfinite(quiet) else SHORTEST_S
        self.longest = max(self.longest, seconds if not quiet else min(busy, seconds))

    def _run(self, experiment: str, state: Investigation, name: str) -> tuple[Case, Trial]:
        module, folder = every()[base(experiment)], self.folder / name
        context = replace(
            self.context,
            turn=sum(t.experiment == experiment for t in state.trials),
            variant=experiment.partition(VARIANT)[2],
        )
        folder.mkdir(parents=True)
        with getattr(module, "around", _around)(context):
            words = list(getattr(module, "command", _command)(context))
            marks = self.context.asked.probes if experiment == PLAIN else ()
            how: How = replace(module.how(context), output=folder / OUTPUT, probes=marks, faults_suffice=True)
            how = replace(_pinned(how, state), stacks=how.stacks or _wants_lines(context, experiment, state))
            patience = self._patience(how)
            how = replace(how, timeout=min(patience, max(SHORTEST_S, self.budget_s - self.elapsed())))
            run = run_recorded(words, folder, how)
            if run.returncode == 0:
                run = replace(run, wrong=criteria.wrong(self.context.asked, folder / OUTPUT, how.extra_env))
        if run.interrupted:
            raise Interrupted
        quiet = _quiet_for(folder) if run.timed_out else 0.0
        # By the budget. What a first run did until then is worth reporting, if it made calls.
        cut_off = how.timeout != patience and (bool(state.trials) or not math.isfinite(quiet))
        if run.timed_out and not run.ended_early and (cut_off or (self._is_guess and quiet < STILL_WORKING_S)):
            raise OutOfTime
        if not _looks_inside(how):
            self._learn_patience(run.duration_s, quiet)
        analysis = pipeline.diagnose_run(run, words, folder)
        for log in (folder / TRACES).glob("heap-*"):  # sparse files, which copies of a case would fill
            log.unlink()
        case, seen = analysis.case, self.learn(analysis.case, analysis.facts, experiment == PLAIN)
        idle = getattr(module, "without_effect", _works)(context, seen)
        trial = replace(
            trial_of(case, experiment, name, state, idle),
            output=at_sites.digest(folder / OUTPUT),
            fresh=how.poison or "",
        )
        if how.poison:
            case, trial = _with_dependence(case, trial, state, analysis.facts)
        if experiment == PLAIN:
            case, trial = _with_order(case, trial, state, analysis.facts)
        return case, trial if idle else at_sites.counted(trial, case, module, context, state)

    def _patience(self, how: How | None = None) -> float:
        """After so many seconds a run hangs. Before a run has ended by itself, only the user can say."""
        given = self.context.how.timeout
        if given:
            return given
        first = max(LEAST_PATIENCE_S, FIRST_PATIENCE * self.budget_s)
        usual = max(LEAST_PATIENCE_S, PATIENCE * self.longest) if self.longest else first
        return max(usual, INSTRUMENT_PATIENCE_S) if how is not None and _looks_inside(how) else usual

    @property
    def _is_guess(self) -> bool:
        """Nobody has said how long the program takes, and no run has ended: one that still makes calls is slow, not stuck."""
        return self.context.how.timeout is None and not self.longest

    def remember(self, state: Investigation) -> None:
        """Learn again from the plain runs of an earlier call."""
        for trial in state.trials:
            if trial.experiment == PLAIN and trial.outcome in ("reproduced", "passed"):
                case = casefile.read(self.folder / trial.folder)
                if case.outcome.kind != "timeout":
                    self._learn_patience(case.outcome.duration_s)
                self.learn(case, _facts(self.folder / trial.folder), True)

    def learn(self, case: Case, facts: Sequence[Facts], plain: bool) -> Seen:
        """What a run's record says of the program; plain runs tell what experiments can be made."""
        traces = [one.trace for one in facts]
        apis, threads, at_once, devices, waits = _look(traces)
        done, not_done = at_sites.look(traces)
        if plain:
            self.context = replace(
                self.context,
                apis=self.context.apis | apis,
                frameworks=self.context.frameworks | _frameworks(traces),
                threads=max(self.context.threads, threads),
                devices=self.context.devices | devices,
                launches=max(self.context.launches, sum(process.launches for process in case.processes)),
                parts=self.context.parts or _has_parts(facts),
                pair=self.context.pair or at_sites.first_pair(case),
                edges=self.context.edges or at_sites.edges(case),
                transfers=self.context.transfers or _transfers(facts),
                offsets=self.context.offsets or next(filter(None, (one.wishes for one in map(copy_offsets.Offsets, facts))), ()),
                exchanges=self.context.exchanges or next(filter(None, map(exchangeable.pairs, facts)), ()),
                stuck=self.context.stuck or _stuck(case),
            )
        return Seen(at_once, devices, frozenset(finding.id for finding in case.findings), waits, done, not_done)


def _wants_lines(context: Context, experiment: str, state: Investigation) -> bool:
    """In a Python program the line is part of the verdict. Plain runs stay as they are, but for the one that repeats what is settled."""
    return "python" in context.frameworks and (experiment != PLAIN or (state.symptom == "settled" and bool(state.trials)))


FRAMEWORKS = {"torch": "/libtorch_", "python": "/python3"}  # by a part of a loaded file's path


def _frameworks(traces: Iterable[Trace]) -> frozenset[str]:
    maps = [trace.maps for trace in traces]
    return frozenset(name for name, part in FRAMEWORKS.items() if any(part in one for one in maps))


def _with_dependence(case: Case, trial: Trial, state: Investigation, facts: Sequence[Facts]) -> tuple[Case, Trial]:
    """Once the runs with different patterns show that the outcome depends on them: the case that says so."""
    return _with_entry(uninitialized.entry((*state.trials, trial), facts), case, trial, facts)


def _pinned(how: How, state: Investigation) -> How:
    """Under a tool that names the kernel only: the launch that the plain run showed as faulting."""
    first = next(iter(state.before), None)
    launch = first.guilty.launch if first is not None and first.guilty and state.symptom == "device error" else None
    return replace(how, sanitizer=replace(how.sanitizer, launch=launch)) if how.sanitizer else how


def _looks_inside(how: How) -> bool:
    """Does an instrument look at the device's work? How long such a run takes says nothing about the program."""
    return bool(how.sanitizer or how.dump or how.kernel_checks or how.simulator)


def _with_order(case: Case, trial: Trial, state: Investigation, facts: Sequence[Facts]) -> tuple[Case, Trial]:
    """Once the runs show that a missing order is the cause: the case of the plain run that completes them, which says so."""
    trials = (*state.trials, trial)
    return _with_entry(ordered.entry(trials, case, facts) or exchanged.entry(trials, facts), case, trial, facts)


def _with_entry(entry: Diagnosis | None, case: Case, trial: Trial, facts: Sequence[Facts]) -> tuple[Case, Trial]:
    """The case and the trial with what all runs together show, if they show it."""
    if entry is None:
        return case, trial
    entry = runtime_words.of_entry(entry, runtime_words.words(facts))
    return replace(case, diagnosis=(entry, *case.diagnosis)), replace(trial, shown=(*trial.shown, entry.cause))


def new(command: Sequence[str], confidence: float, template: Sequence[str], asked: Asked) -> Investigation:
    """An investigation without runs."""
    program = trials.identity(command)
    return Investigation(confidence, folder=os.getcwd(), program=program, command=tuple(template), asked=asked)


def taken_up(state: Investigation, command: Sequence[str]) -> Investigation:
    """An investigation that goes on: in the same place, and with the same program, or not at all."""
    try:
        os.chdir(state.folder)
    except OSError as error:
        raise UserError(f"{state.folder}, where the program is run, does not exist ({error.strerror}).") from None
    if trials.identity(command) != state.program:
        raise UserError("The program was changed since, so its runs do not belong together: start a new investigation.")
    return state


def begun(case: Case, state: Investigation) -> Investigation:
    """An investigation that goes on with a case of `gpudx run`: its run counts, if it was a plain one."""
    if [seen.ways for seen in case.observations] != [Ways()] or state.asked.vary:
        return state
    trial = trial_of(case, PLAIN, "", state)
    return replace(
        state,
        trials=(trial,),
        failure=same_failure.failure(case),
        before=(*case.diagnosis, *decisive.refused_work(case)),
        symptom=decisive.symptom(case),
    )


def _unattributed(case: Case) -> list[str]:
    """Fences make the device fault. A report of that names no address, so it may have met a fence, or something else: it shows
    an access where it is known to be of one launch, but its showing none says nothing."""
    fenced = any(one.name == fenced_runs.NAME for one in case.instruments)
    reported = any(f.reports_device_error for f in case.findings)
    return ["the device reported a fault, but not of which launch"] if fenced and reported else []


def trial_of(case: Case, experiment: str, folder: str, state: Investigation, idle: str | None = None) -> Trial:
    """What a run means. `idle`: why the experiment had no effect, so that it means nothing."""
    known = {mark for trial in state.trials if trial.experiment == PLAIN for mark in trial.fingerprints}
    new = [e for e in case.diagnosis if e.status in ("confirmed", "likely") and not known & set(e.findings)]
    if state.failure is None and case.outcome.failed_itself:  # the plain runs have the fault, but do not fail of it
        new = [e for e in case.diagnosis if e.status in ("confirmed", "likely")]
    new += [e for e in case.diagnosis if e.status == "confirmed" and _was_less(e, state)]
    if state.trials and state.symptom != "hang":  # an instrument that took too long is not what the program fails of
        new = [e for e in new if e.cause != "hang"]
    silent = (PLAIN, *ordered.WITHOUT_INSTRUMENT)  # no instrument looks at these runs, and what their record has the plain ones have too
    itself = base(experiment) not in silent and not _is_asked(every()[base(experiment)])  # another program has its own faults
    watching = [one for one in case.instruments if one.watches and one.name != "recorder"]
    return Trial(
        experiment=experiment,
        outcome="not reached" if idle else same_failure.outcome(case, state.failure),
        ending=case.outcome.word,
        seconds=case.outcome.duration_s,
        fingerprints=tuple(dict.fromkeys(finding.fingerprint for finding in case.findings)),
        shown=tuple(dict.fromkeys(entry.cause for entry in new)) if itself else (),
        blind="; ".join(
            [*(one.blind or one.saw for one in watching if one.blind or one.state != "live"), *_unattributed(case)]
        ),
        folder=folder,
        note=idle or "",
        given=next((one.gave for one in watching if one.gave), ""),
    )


def _was_less(entry: Diagnosis, state: Investigation) -> bool:
    """Was it only likely by the plain runs' own record?"""
    known = [one.status for one in state.before if one.cause == entry.cause]
    return bool(known) and "confirmed" not in known


def first_failing(directory: Path, state: Investigation) -> Case:
    """The case that a report is made of: the first plain run that failed, else the first run."""
    plain = [trial for trial in state.trials if trial.experiment == PLAIN]
    chosen = next((trial for trial in plain if trial.outcome == "reproduced"), plain[0])
    case = casefile.read(directory / chosen.folder)
    prefix = f"{chosen.folder}/" if chosen.folder else ""
    processes = tuple(replace(process, trace=f"{prefix}{process.trace}") for process in case.processes)
    return replace(case, directory=str(directory), processes=processes)


def _at_once(trace: Trace, calls: NDArray[np.bool_]) -> int:
    """How many threads were between their first and last call at the same time; all of them where calls were not kept."""
    begin, end = (trace.column(name)[calls].astype(np.uint64) for name in ("begin", "end"))
    end[end == 0] = np.iinfo(np.uint64).max  # has not returned
    _, which = np.unique(trace.column("tid")[calls], return_inverse=True)
    first, last = (
        np.full(which.max(initial=-1) + 1, np.iinfo(np.uint64).max),
        np.zeros(which.max(initial=-1) + 1, np.uint64),
    )
    np.minimum.at(first, which, begin)
    np.maximum.at(last, which, end)
    if trace.gaps:
        return len(first)
    return max((int(((first <= start) & (start <= last)).sum()) for start in first), default=0)


def _look(traces: Iterable[Trace]) -> tuple[frozenset[str], int, int, frozenset[str], int]:
    """APIs, most threads of one process that made calls, and that did at once, devices, and waits that have no caller: the
    recorder's own."""
    apis: set[str] = set()
    devices: set[str] = set()
    threads = at_once = waits = 0
    for trace in traces:
        every_api = np.array([call.api for call in trace.schema.calls])
        calls = every_api[trace.call] != "note"
        apis.update(np.unique(every_api[trace.call[calls]]).tolist())
        threads = max(threads, len(np.unique(trace.column("tid")[calls])))
        at_once = max(at_once, _at_once(trace, calls))
        waits += int((trace.column("caller", trace.select(trace.schema.doing("wait"))) == 0).sum())
        devices.update(trace.text(int(at)) for at in trace.named("note_device"))
    return frozenset(apis), threads, at_once, frozenset(devices), waits


def _has_parts(facts: Iterable[Facts]) -> bool:
    """Are buffers used by parts that could be memory of their own? Each process that has parts must allow it."""
    made = [one for one in facts if len(one.objects.rows_of("subbuffer"))]
    return bool(made) and all(can_be_apart(one) for one in made)


def _stuck(case: Case) -> str:
    """The kernel of the launch that had not ended, where a run hung and the record names one."""
    named = [f.site.kernel for f in case.findings if f.symptom is not None and f.symptom.kind == "hang" and f.site]
    return next((kernel for kernel in named if kernel), "")


def _transfers(facts: Sequence[Facts]) -> tuple[str, ...]:
    """Of the process that makes most transfers: numbers count in each process."""
    busiest = max(facts, key=lambda one: len(transfers.early(one.trace)), default=None)
    return tuple(one.ranges for one in transfers.by_line(busiest.trace, busiest.sites)) if busiest else ()


def _facts(folder: Path) -> list[Facts]:
    """Of a run of an earlier call, as far as its traces were kept."""
    return [derive(trace) for trace in open_traces(folder / TRACES)[0]]


def _quiet_for(folder: Path) -> float:
    """Seconds from the last call that any process began until now; infinite without calls. A process's clock starts at its
    first call, so this is read right after the run."""
    quiet = math.inf
    for trace in open_traces(folder / TRACES)[0]:
        begun = trace.column("begin")
        if len(begun):
            started = int(trace.header["start_mono_ns"]) / 1e9 + float(trace.seconds(begun.max(keepdims=True))[0])
            quiet = min(quiet, time.monotonic() - started)
    return quiet


def _why_lost(error: Exception, folder: Path) -> str:
    """Why a run says nothing; a bug of ours is kept for a report."""
    if isinstance(error, UserError):
        return str(error).rstrip(".")
    with contextlib.suppress(OSError):
        (folder / BUG).write_text(traceback.format_exc())
    return f"the analysis failed, which is a bug in gpudx: please report {folder / BUG}"


def _is_asked(module: Experiment) -> bool:
    return bool(getattr(module, "ASKED", False))


def _variants(name: str, module: Experiment, context: Context) -> list[str]:
    """The names under which its runs are counted."""
    if not hasattr(module, "variants"):
        return [name]
    return [f"{name}{VARIANT}{variant}" if variant else name for variant in module.variants(context)]


def _command(context: Context) -> tuple[str, ...]:
    return context.command


@contextlib.contextmanager
def _around(context: Context) -> Iterator[None]:
    yield


def _works(context: Context, seen: Seen) -> str | None:
    return None


def open_laboratory(
    folder: Path,
    template: tuple[str, ...],
    how: How,
    budget_s: float,
    only: Collection[str],
    without: Collection[str],
    asked: Asked,
) -> Laboratory:
    """A laboratory for a command; names of experiments that do not exist, and words that make no sense, are refused."""
    for name in (*only, *without):
        if name not in every():
            raise UserError(f"There is no experiment {name!r}: choose from {', '.join(every())}.")
    plain = sized.of_plain_runs(asked)
    how = how.under(sized.variable(template, plain))
    command, environment = sized.filled(template, plain), {**os.environ, **how.extra_env}
    context = Context(command, environment, how, asked=asked, template=template, folder=folder)
    criteria.refuse_nonsense(asked)
    for module in every().values():
        getattr(module, "check", _command)(context)
    return Laboratory(folder, context, budget_s, only, without)
