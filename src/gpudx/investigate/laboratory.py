"""The lab of an investigation: runs an experiment on the program, has the run diagnosed, and says what it means.

Every run is a small case of its own below the investigation's (`runs/007-fenced`): gpudx report shows it. Traces of runs that
ended like an earlier one of the same experiment are not kept.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import time
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from gpudx import casefile
from gpudx.diagnose import fenced_runs, runtime_words
from gpudx.diagnose.kernel_check_runs import NAN_READ_BACK
from gpudx.errors import UserError, keep
from gpudx.facts import Facts, derive
from gpudx.investigate import (
    decisive,
    exchanged,
    freed_early,
    ordered,
    races,
    same_failure,
    shared_kernels,
    standstill,
    uninitialized,
    unset_variables,
    which_memory,
    widened,
)
from gpudx.investigate.loop import OutOfTime, Result
from gpudx.investigate.observed import HUNG
from gpudx.investigate.one_run import SHORTEST_S, Job, Made, learn, make, reports_check, with_learned
from gpudx.lab import at_sites, criteria, edited, trials
from gpudx.lab.experiments import (
    PLAIN,
    VARIANT,
    Context,
    Experiment,
    NotReached,
    base,
    every,
    filled_variables,
    mitigations,
    sized,
)
from gpudx.lab.experiments import reversed as reversed_order
from gpudx.lab.recorded import TRACES
from gpudx.lab.trials import OUTPUT, RUNS, Interrupted
from gpudx.model import Asked, Case, Diagnosis, Evidence, Failure, Finding, Investigation, Trial
from gpudx.model.diagnosis import OutcomeName, Status
from gpudx.model.how import How, Ways
from gpudx.trace import open_traces

SIMULATED = "oclgrind"
REFUSALS = "runtime-errors"  # looks for calls that the runtime refuses without a driver's call
PATIENCE = 10  # times the longest run so far: then a run hangs
LEAST_PATIENCE_S = 10.0
PATIENCE_WITH_CHANGE = 5  # the same of a changed program
LEAST_OF_CHANGE_S = 4.0
UNCHANGED = f"{exchanged.EDITED}{VARIANT}{edited.NONE}"
DOUBTFUL: OutcomeName = "reproduced"  # of a run that ended well with a change, but not with results
INSTRUMENT_PATIENCE_S = 30.0  # a tool that has found millions of faults takes its time
LOOKING_INSIDE = frozenset({"checked", "checked-loops", "checked-numbers", "fenced", "low-fenced"})  # experiments inside kernels
NOTHING = ("not reached", "tool missing")  # such runs may have no case
AT_THE_END_S = 1.0  # of the budget, for the analysis of the last run
LONGER = 0.3  # of the budget: whether a program that stood still ends with more time
FIRST_PATIENCE = 0.4  # of the budget: a first run that has not ended by then, and does nothing any more, hangs
NAN, NUMBERS = "not-a-number", "checked-numbers"
READ_BACK = "This is the first NaN of the run, and the program read one back; whether it expects that is not known."
PRINTED_NAN, PRINTED_INFINITY = (re.compile(rb"(?i)(?<![\w.])-?(?:%b)(?!\w)" % word) for word in (b"nan", b"inf(?:inity)?"))


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
    ends: bool = False  # has a run without such instruments come to its end?
    looked: tuple[Context, Mapping[str, str]] | None = None  # what cannot be run, as of what is known of the program
    made: int = 0  # runs, also such as a state does not have

    @property
    def threads(self) -> int:
        return self.context.threads

    @property
    def launches(self) -> int:
        return self.context.launches

    @property
    def places(self) -> int:
        """Runs that can be made at the same time."""
        return 1

    def __enter__(self) -> Self:
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
    def is_chosen(self) -> bool:
        return bool(self.only)

    @property
    def mitigations(self) -> frozenset[str]:
        return mitigations()

    @property
    def not_run(self) -> Mapping[str, str]:
        """Experiments that cannot be run here, and why. Asked for many times for each run, and some look for tools."""
        if self.looked is None or self.looked[0] is not self.context:
            whys = {name: self._why_not(name, module) for name, module in every().items() if name != PLAIN}
            self.looked = self.context, {name: why for name, why in whys.items() if why}
        return self.looked[1]

    def _why_not(self, name: str, module: Experiment) -> str | None:
        if (self.only and name not in self.only) or name in self.without:
            return "left out on the command line"
        return self._missing(module)

    def _missing(self, module: Experiment) -> str | None:
        """Why it cannot be run where the runs are made."""
        why: str | None = module.missing(self.context)
        return why

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def run(self, experiment: str, state: Investigation) -> Result:
        """One run. What goes wrong in it is told in its trial, and costs only this run."""
        number = self.made = max(len(state.trials), self.made) + 1
        name = f"{RUNS}/{number:03d}-{base(experiment)}"  # the value of a variant may be no name for a folder
        shutil.rmtree(self.folder / name, ignore_errors=True)  # left by a run that was cut off
        began = time.monotonic()
        try:
            case, trial, made = self._run(experiment, state, name)
        except (OutOfTime, Interrupted):
            self.made -= 1
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
        trial = replace(trial, seconds=made.took_s)
        return _result(trial, case)

    def read(self, trial: Trial) -> Result:
        """What a run gave, from its case."""
        if trial.outcome in NOTHING:
            return Result(trial)
        folder = self.folder / trial.folder
        return _result(trial, _counted(casefile.read(folder), trial.experiment, folder))

    def seen_as(self, trial: Trial, failure: Failure) -> Trial:
        """What a run means if this is the failure that is looked for."""
        if trial.outcome in NOTHING:
            return trial
        return replace(trial, outcome=same_failure.outcome(casefile.read(self.folder / trial.folder), failure))

    def _learn_patience(self, seconds: float, quiet: float = 0.0) -> None:
        """How long a run takes; of one that hung, until it made its last call."""
        busy = max(SHORTEST_S, seconds - quiet) if math.isfinite(quiet) else SHORTEST_S
        self.longest = max(self.longest, seconds if not quiet else min(busy, seconds))

    def _run(self, experiment: str, state: Investigation, name: str) -> tuple[Case, Trial, Made]:
        job = self.job(experiment, state)
        made = self.make(job, self.folder / name, state)
        case = _counted(made.case, experiment, self.folder / name)
        module = every()[base(experiment)]
        other = _is_of_another_program(module)  # how long that takes says nothing of this one
        if not other and (not made.looks_inside or not (made.hung or self.ends)):  # slowed down by an instrument is better than none
            self._learn_patience(made.duration_s, made.quiet_s)
        self.ends = self.ends or not (other or made.looks_inside or made.hung)
        if experiment == PLAIN:
            self.context = with_learned(self.context, made.learned)
        trial = replace(trial_of(case, experiment, name, state, made.idle), output=made.output, fresh=made.fresh)
        if base(experiment) == reversed_order.ID:
            trial = races.compared(trial, state, self.folder, job.context)
        if hasattr(module, "changed"):
            trial = replace(trial, change=module.changed(job.context))
        if trial.outcome == "passed" and other and (why := self._no_pass(made, name)):
            trial = replace(trial, outcome=DOUBTFUL, note=trial.note or why)
        if experiment == UNCHANGED:
            trial = self._control(trial, made)
        trial = uninitialized.without_unused(trial, state, case.diagnosis)
        if made.fresh:
            case, trial = _with_dependence(case, trial, state, made.facts)
        if experiment == uninitialized.SHARED_MEMORY:
            entry = uninitialized.shared_entry((*state.trials, trial), case)
            case, trial = _with_entry(entry, case, trial, made.facts)
        if base(experiment) == filled_variables.ID:
            case, trial = _with_entry(unset_variables.entry((*state.trials, trial), job.context, made.facts), case, trial, made.facts)
        if experiment == PLAIN:
            case, trial = _with_order(case, trial, state, made.facts)
            entry = widened.entry((*state.trials, trial), job.context, made.facts, self.folder)
            case, trial = _with_entry(entry, case, trial, made.facts)
        case, trial = _with_entry(which_memory.named(state, trial, made.facts), case, trial, made.facts)
        case, trial = _with_entry(freed_early.entry(state.trials, trial, case), case, trial, made.facts)
        return case, trial if made.idle else at_sites.counted(trial, case, module, job.context, state), made

    def _control(self, trial: Trial, made: Made) -> Trial:
        """Of the source that has all changes: with none on, the program must fail as it does by itself, or none is switched on."""
        refused = any((facts.launches.status != 0).any() for facts in made.facts)
        if trial.outcome == "reproduced" and not refused:
            return trial
        self.context = replace(self.context, switches=False)
        return replace(trial, outcome="another failure")

    def _no_pass(self, made: Made, name: str) -> str:
        """Why a program that passed with a change did so for another reason than that it is right now: `error > limit` is false for a NaN,
        and so is the difference of two results that were not computed."""
        try:
            printed = PRINTED_NAN.search((self.folder / name / OUTPUT).read_bytes())
        except OSError:
            printed = None
        if printed:
            return "the program printed a NaN"
        return made.back.why_not(self.context.back) if made.back and self.context.back else ""

    def job(self, experiment: str, state: Investigation) -> Job:
        """The next run of an experiment after those of `state`."""
        context = replace(
            self.context,
            turn=sum(t.experiment == experiment for t in state.trials),
            variant=experiment.partition(VARIANT)[2],
        )
        return Job(
            experiment,
            context,
            launch=_faulting_launch(state),
            stacks=_wants_lines(context, experiment, state),
            patience_s=self._longer() if _asks_for_time(experiment, state) else self._patience(experiment),
            inside_s=self.context.how.timeout or max(self._patience(experiment), INSTRUMENT_PATIENCE_S),
            still_s=self._stillness(experiment, state),
            left_s=self.budget_s - self.elapsed(),
            is_first=not state.trials,
            is_guess=self._is_guess,
        )

    def make(self, job: Job, folder: Path, state: Investigation) -> Made:
        """Make a run, in `folder`."""
        return make(job, folder)

    def _patience(self, experiment: str = PLAIN) -> float:
        """After so many seconds a run hangs. Before a run has ended by itself, only the user can say. A changed program that takes much
        longer than the program itself does not pass: it gets little."""
        given = self.context.how.timeout
        if given:
            return given
        module = every()[base(experiment)]
        if self.longest and experiment != UNCHANGED and getattr(module, "CHANGES_PROGRAM", False):
            least = LEAST_PATIENCE_S if getattr(module, "EDITS_KERNELS", False) else LEAST_OF_CHANGE_S
            return max(least, PATIENCE_WITH_CHANGE * self.longest)
        first = max(LEAST_PATIENCE_S, FIRST_PATIENCE * self.budget_s)
        return max(LEAST_PATIENCE_S, PATIENCE * self.longest) if self.longest else first

    def _stillness(self, experiment: str, state: Investigation) -> float:
        """After so many seconds without progress a run hangs, where it is not known how long runs take."""
        if self.context.how.timeout or _asks_for_time(experiment, state):
            return math.inf
        if not state.trials:
            return max(standstill.LEAST_S, standstill.OF_BUDGET * self.budget_s)
        return standstill.AGAIN_S if state.failure and state.failure.ending == HUNG else math.inf

    def _longer(self) -> float:
        """For a run that says whether a program which stood still is only slow. Where no kernel is known to hang, nothing else can be
        tried: it gets all the time that is left."""
        share = LONGER * self.budget_s if self.context.stuck else self.budget_s - self.elapsed() - AT_THE_END_S
        return max(LEAST_PATIENCE_S, share)

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
                self.context = with_learned(self.context, learn(case, kept_facts(self.folder / trial.folder)))


def _asks_for_time(experiment: str, state: Investigation) -> bool:
    """Is it the plain run that shows whether a program which was stopped would have ended?"""
    return experiment == PLAIN and state.symptom == "hang" and bool(state.trials) and decisive.may_be_slow(state)


def _wants_lines(context: Context, experiment: str, state: Investigation) -> bool:
    """In a Python program the line is part of the verdict. Plain runs stay as they are, but for the one that repeats what is settled: it
    has the callers of the functions that allocate and launch, and those that complete a decision about a launch that faults every time.
    Runs that look inside kernels take long anyway, so they have them, too."""
    if experiment == PLAIN:
        decides = any(trial.experiment in which_memory.CAUSE for trial in state.trials)
        return decides or (state.symptom == "settled" and bool(state.trials)) or _decides_lines(context, state)
    return "python" in context.frameworks or base(experiment) in LOOKING_INSIDE


FEW_LAUNCHES = 20_000  # of a plain run that has the line of each: it takes some milliseconds more


def _decides_lines(context: Context, state: Investigation) -> bool:
    """Of a wrong result: is it the last of the plain runs that show that it fails every time, or one that completes a decision?"""
    plain = sum(trial.experiment == PLAIN for trial in state.trials)
    return state.symptom == "wrong result" and plain >= exchanged.FAILURES - 1 and 0 < context.launches < FEW_LAUNCHES


def _result(trial: Trial, case: Case) -> Result:
    refused = decisive.refused_work(case) if trial.experiment == PLAIN else ()
    return Result(trial, (*case.diagnosis, *refused), same_failure.failure(case), decisive.symptom(case))


def _counted(case: Case, experiment: str, folder: Path) -> Case:
    return _with_printed_nan(case, folder / OUTPUT) if experiment == NUMBERS else case


def _with_printed_nan(case: Case, output: Path) -> Case:
    """Programs compute NaN and infinity on purpose, to mark what is missing. In a run that passed, one counts only if the program printed
    it, or as likely if it read a NaN back. The first one of a run whose output has one is where that comes from; a program may have meant
    to print infinity, which the logarithm of zero is."""
    try:
        text = output.read_bytes()
    except OSError:
        text = b""
    mine = [entry for entry in case.diagnosis if entry.cause == NAN]
    if PRINTED_NAN.search(text):
        first = next((entry for entry in mine if entry.status == "likely"), None)
        return _with_first(case, first, "a NaN", "NaN", "confirmed")
    if PRINTED_INFINITY.search(text):
        first = min(mine, key=lambda entry: (entry.guilty.number or 0) if entry.guilty else 0, default=None)
        return _with_first(case, first, "an infinite number", "infinity", "likely")
    if case.outcome.failed:
        return case
    back = [entry for entry in mine if entry.status == "likely" and any(one.text.startswith(NAN_READ_BACK) for one in entry.evidence)]
    if back:
        entry = replace(back[0], reason=READ_BACK)
        return replace(case, diagnosis=(entry, *(one for one in case.diagnosis if one is not back[0])))
    return replace(case, diagnosis=tuple(entry for entry in case.diagnosis if entry.cause != NAN))


def _with_first(case: Case, first: Diagnosis | None, printed: str, what: str, status: Status) -> Case:
    if first is None:
        return case
    seen = Evidence(f"the program's output has {printed}, and this launch computed the first one")
    reason = f"This is the first {what} of the run, and the program printed one."
    entry = replace(first, status=status, reason=reason, evidence=(*first.evidence, seen))
    return replace(case, diagnosis=(entry, *(one for one in case.diagnosis if one is not first)))


def _with_dependence(case: Case, trial: Trial, state: Investigation, facts: Sequence[Facts]) -> tuple[Case, Trial]:
    """Once the runs with different patterns show that the outcome depends on them: the case that says so."""
    return _with_entry(uninitialized.entry((*state.trials, trial), case, facts), case, trial, facts)


def _faulting_launch(state: Investigation) -> int | None:
    """That the plain run showed."""
    first = next(iter(state.before), None)
    return first.guilty.launch if first is not None and first.guilty and state.symptom == "device error" else None


def _with_order(case: Case, trial: Trial, state: Investigation, facts: Sequence[Facts]) -> tuple[Case, Trial]:
    """Once the runs show that a missing order is the cause: the case of the plain run that completes them, which says so."""
    trials = (*state.trials, trial)
    changed = exchanged.entry(trials, facts, is_checked=state.asked.judges or reports_check(case))
    found = shared_kernels.entry(trials, case) or ordered.entry(trials, case, facts) or changed
    found = found or which_memory.entry(state, trial, case, facts)
    return _with_entry(found, case, trial, facts)


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
    """Fences make the device fault. A report of that names no address, or a page and no launch, so it may have met a fence, or something
    else: it shows an access where it is known to be of one launch, but its showing none says nothing."""
    fenced = any(one.name == fenced_runs.NAME for one in case.instruments)
    reported = any(f.reports_device_error or _is_of_some_launch(f) for f in case.findings)
    return ["the device reported a fault, but not of which launch"] if fenced and reported else []


def _is_of_some_launch(finding: Finding) -> bool:
    by_driver = finding.access is not None and finding.access.seen_by == "driver"
    return by_driver and finding.certainty == "observed" and finding.attribution != "this"


def trial_of(case: Case, experiment: str, folder: str, state: Investigation, idle: str | None = None) -> Trial:
    """What a run means. `idle`: why the experiment had no effect, so that it means nothing."""
    known = {mark for trial in state.trials if trial.experiment == PLAIN for mark in trial.fingerprints}
    new = [e for e in case.diagnosis if e.status in ("confirmed", "likely") and not known & set(e.findings)]
    if state.failure is None and case.outcome.failed_itself:  # the plain runs have the fault, but do not fail of it
        new = [e for e in case.diagnosis if e.status in ("confirmed", "likely")]
    new += [e for e in case.diagnosis if e.status == "confirmed" and _was_less(e, state)]
    if base(experiment) == SIMULATED:  # it stands in for the driver: what it refuses is no fault of the program's, only what it sees
        new = [e for e in new if e.observed]
    if base(experiment) != REFUSALS:  # a call that is refused only beside an instrument is refused because of it
        new = [e for e in new if e.observed or not _is_of_refused_call(e, case)]
    if state.trials and state.symptom != "hang":  # an instrument that took too long is not what the program fails of
        new = [e for e in new if e.cause != "hang"]
    silent = (PLAIN, *ordered.WITHOUT_INSTRUMENT)  # no instrument looks at these runs, and what their record has the plain ones have too
    itself = base(experiment) not in silent and not _is_of_another_program(every()[base(experiment)])
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


def _is_of_refused_call(entry: Diagnosis, case: Case) -> bool:
    """Does it rest on a call that failed, and on nothing that an instrument saw?"""
    mine = [finding for finding in case.findings if finding.fingerprint in entry.findings]
    return any(f.site is not None and f.site.status not in (None, "in flight") for f in mine)


def _was_less(entry: Diagnosis, state: Investigation) -> bool:
    """Was it only likely by the plain runs' own record?"""
    known = [one.status for one in state.before if one.cause == entry.cause]
    return bool(known) and "confirmed" not in known


def first_failing(directory: Path, state: Investigation) -> Case:
    """The case that a report is made of: the first plain run that failed, else the first that ended."""
    plain = [trial for trial in state.trials if trial.experiment == PLAIN]
    ended = [trial for trial in plain if trial.outcome != "timeout"] or plain  # one that was stopped too early says nothing
    chosen = next((trial for trial in plain if trial.outcome == "reproduced"), ended[0])
    case = casefile.read(directory / chosen.folder)
    prefix = f"{chosen.folder}/" if chosen.folder else ""
    processes = tuple(replace(process, trace=f"{prefix}{process.trace}") for process in case.processes)
    return replace(case, directory=str(directory), processes=processes)


def kept_facts(folder: Path) -> list[Facts]:
    """Of a run of an earlier call, as far as its traces were kept."""
    return [derive(trace) for trace in open_traces(folder / TRACES)[0]]


def _why_lost(error: Exception, folder: Path) -> str:
    """Why a run says nothing; a bug of ours is kept for a report."""
    if isinstance(error, UserError):
        return str(error).rstrip(".")
    return f"the analysis failed, which is a bug in gpudx: please report {keep(folder, traceback.format_exc())}"


def _is_asked(module: Experiment) -> bool:
    return bool(getattr(module, "ASKED", False))


def _is_of_another_program(module: Experiment) -> bool:
    """Another revision, another build, or a change that is tried: it has its own faults."""
    return _is_asked(module) or bool(getattr(module, "CHANGES_PROGRAM", False))


def _variants(name: str, module: Experiment, context: Context) -> list[str]:
    """The names under which its runs are counted."""
    if not hasattr(module, "variants"):
        return [name]
    return [f"{name}{VARIANT}{variant}" if variant else name for variant in module.variants(context)]


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
        if hasattr(module, "check"):
            module.check(context)
    return Laboratory(folder, context, budget_s, only, without)
