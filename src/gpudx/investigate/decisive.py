"""Decisive experiments first: what the first run showed decides the plan, and a step is run only while the cause is open.

Statistics come last: a fault that an instrument can see needs one run under that instrument, not a rate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gpudx.causes import every as every_cause
from gpudx.causes import tells
from gpudx.diagnose import entries
from gpudx.investigate import (
    exchanged,
    met,
    ordered,
    races,
    shared_kernels,
    uninitialized,
    unset_variables,
    which_memory,
    widened,
)
from gpudx.investigate.agreement import agreed, is_unnamed
from gpudx.investigate.observed import HUNG, hangs_sometimes, observed
from gpudx.investigate.plans import (
    ABORTED,
    EDGES,
    EDITED_KERNEL,
    EXCHANGED,
    FAILS_TOO,
    FILLED,
    HANGS_TOO,
    HOW_OFTEN,
    INDICES,
    INSTEAD,
    LONGER,
    LOOPS,
    ORDER_FIRST,
    ORDERED,
    OTHER_NUMBER,
    PLANS,
    POISON,
    RACES,
    REDIRECTED,
    REVERSED,
    SCALED,
    SERIALISED,
    SHARED_AGAIN,
    USED_EARLY,
    WHICH_BUFFER,
    WHICH_MEMORY,
    WIDENED,
    Step,
)
from gpudx.investigate.suspects import by_page
from gpudx.investigate.uninitialized import POISONED
from gpudx.lab.experiments import base
from gpudx.model import Case, Diagnosis, FailureClass, Finding, Investigation, Trial, Verdict
from gpudx.model.case import NOTHING_CHECKED, UNCHECKED_KERNELS
from gpudx.model.cause_kinds import PROGRAM, WHERE
from gpudx.model.investigation import NOT_CUDA

TWICE = 2
SHORT_S = 5.0
REPEAT = 2  # plain runs of a fault that the record settles: the second says whether it repeats
DEVICE_ERROR = "device-error-reported"
BESIDE = (DEVICE_ERROR, "ignored-error", "runtime-error")
REFUSED = "The call was refused, so its work was not done; the program continued without a failure of its own."
ABORT = "signal:SIGABRT"
CREATING = ("Create", "Alloc")
UNSAID = ("device-assertion",)  # causes that a kernel states without the value that it is about


def symptom(case: Case) -> FailureClass:
    """The class of what a run showed. A recorded device error is a failure, whatever the exit status."""
    if any(explains(entry) and not by_page(entry) for entry in case.diagnosis) or refused_work(case) or _is_of_refused_call(case):
        return "settled"
    if any(finding.id == DEVICE_ERROR for finding in case.findings):
        return "device error"
    kinds: dict[str, FailureClass] = {
        "timeout": "hang",
        "signal": "crash",
        "exit": "wrong result",
        "passed": "no failure",
    }
    return kinds.get(case.outcome.kind, "")


def refused_work(case: Case) -> tuple[Diagnosis, ...]:
    """Calls that a driver refused in a run that passed all the same. Programs may try what is refused, so gpudx run only warns;
    whoever investigates says that something is wrong."""
    if case.outcome.failed:
        return ()
    refused = [
        f for f in case.findings if f.severity == "warning" and f.scope == "fault" and f.causes and _is_refused(f)
    ]
    if all(map(_is_creation, refused)):  # what was not created was not missed either: the program tried, and did something else
        return ()
    return tuple(
        entries.of_finding(f, Verdict(entries.hypothesis(f), "likely", f.evidence, (), REFUSED), None) for f in refused
    )


def _is_of_refused_call(case: Case) -> bool:
    """Does the best entry rest on a call that the driver refused, or on what the call was given that the program died in? A call that
    failed without being noticed may be beside the point."""
    first = next((entry for entry in case.diagnosis if entry.cause not in BESIDE), None)
    if first is None or first.status != "likely":
        return False
    died = {
        (f.site.pid, f.site.number) for f in case.findings if f.site and f.symptom and f.symptom.kind == "crash in call"
    }
    faults = [f for f in case.findings if f.severity == "error" and f.site is not None and f.id not in BESIDE]
    settled = [f for f in faults if _is_settled(f, case.outcome.kind, died)]
    return any(f.fingerprint in first.findings for f in settled)


def _is_settled(finding: Finding, ended: str, died: Collection[tuple[int, int]]) -> bool:
    assert finding.site is not None
    if ended == "exit":
        return _is_refused(finding)
    return ended == "signal" and finding.scope == "fault" and (finding.site.pid, finding.site.number) in died


def _is_creation(finding: Finding) -> bool:
    return finding.site is not None and any(word in finding.site.call for word in CREATING)


def _is_refused(finding: Finding) -> bool:
    return finding.site is not None and finding.site.status not in (None, "in flight")


def explains(entry: Diagnosis) -> bool:
    """Is it a cause that stands, and not only the place where a failure became visible, or which program ran?"""
    return entry.status == "confirmed" and _is_cause(entry)


def answered(state: Investigation) -> bool:
    """Has a run shown the cause, or an instrument reported a suggested one again?"""
    again = any(row.status == "confirmed" and row.suggested for row in state.table) and _was_reported_again(state)
    return again or any(map(explains, agreed((*state.before, *state.found))))


def _was_reported_again(state: Investigation) -> bool:
    return any(_times_shown(state, name, cause) >= TWICE for name, cause in _reported(state))


def _reported(state: Investigation) -> list[tuple[str, str]]:
    """Instruments and the causes that they are made to show, and showed."""
    likely = {one.cause for one in state.found if one.status == "likely" and one.observed and _is_cause(one)}
    shown = dict.fromkeys((trial.experiment, cause) for trial in state.trials for cause in trial.shown if cause in likely)
    return [(name, cause) for name, cause in shown if _expects(cause, name) == "shown"]


def _expects(cause: str, experiment: str) -> str:
    found = every_cause()[cause].predictions.get(base(experiment))
    return found.expects if found else ""


def _times_shown(state: Investigation, experiment: str, cause: str) -> int:
    return sum(trial.experiment == experiment and cause in trial.shown for trial in state.trials)


def _once_more(state: Investigation, runnable: Collection[str]) -> Step | None:
    """What an instrument has reported once counts when it reports it again: no other run says as much."""
    for name, cause in _reported(state):
        made = _made(state.trials, name)
        if name in runnable and _times_shown(state, name, cause) == 1 and made < TWICE + 1:
            return Step(name, "whether it is reported again", made + 1)
    return None


def next_step(state: Investigation, runnable: Collection[str]) -> Step | None:
    """The first step of the plan that can be run and was not; None when there is none, or the cause is known."""
    if state.symptom == "settled":
        if any(one.cause in UNSAID for one in state.before) and _is_open(INDICES, state, runnable):
            return INDICES
        plain = [trial.ending for trial in state.trials if trial.experiment == "recorded"]
        wanted = Step("recorded", "whether it repeats", REPEAT + (set(plain) == {HUNG}))  # a run that ends shows what the others left out
        return wanted if len(plain) < wanted.runs else None
    plan: Sequence[Step] = PLANS[state.symptom]
    if state.symptom == "hang" and not may_be_slow(state):
        plan = (HOW_OFTEN,) if _is_named(state) else (HOW_OFTEN, *plan)
    if any(UNCHECKED_KERNELS in trial.blind for trial in state.trials):
        plan = (INSTEAD, *plan)
    if state.symptom == "crash" and any(trial.ending == ABORT for trial in state.trials):
        plan = (*plan, *ABORTED)
    if state.symptom == "no failure" and any(trial.ending == HUNG for trial in state.trials) and _is_open(HANGS_TOO, state, runnable):
        return HANGS_TOO
    if state.symptom == "no failure" and _failed_while_looked_at(state) and _is_open(FAILS_TOO, state, runnable):
        return FAILS_TOO
    if state.symptom == "hang" and any(t.experiment == LOOPS and t.shown for t in state.trials):
        return None  # the loop is known; other instruments would wait for it
    if shared := shared_kernels.next_run(state, runnable):
        return Step(shared.experiment, shared.why, shared.runs)
    if answered(state):
        if questions := _questions(state):
            step = next(filter(None, (_open_step(one, state, runnable) for one in questions)), None)
            if step is not None or not all(_is_without_consequence(one, state) for one in questions):
                return step
        elif not _is_vague(state):
            return _open_step(REVERSED, state, runnable) if _is_short(state) else None
        else:
            plan = [step for step in plan if step.experiment in PRECISE]
    elif is_steady(state) and _seen_but_untestable(state):
        return None
    elif which_memory.was_asked(state.trials):
        plan = [step for step in plan if step not in (*EDGES, SERIALISED)]  # the launch is known, and faults without a fence
    elif again := _once_more(state, runnable):
        return again
    return next(filter(None, (_open_step(step, state, runnable) for step in plan)), None)


def _failed_while_looked_at(state: Investigation) -> bool:
    """Did a run fail under an instrument that changes neither the order of the work nor what memory holds, and that named nothing? Then
    the program fails now and then by itself."""
    looked = [trial for trial in state.trials if trial.experiment in met.LOOKING]
    return any(trial.outcome == "reproduced" and trial.ending.startswith("exit") and not trial.shown for trial in looked)


def may_be_slow(state: Investigation) -> bool:
    """Is it open whether a program that was stopped would have ended? Not where another run ended much sooner, nor where it is known what
    it waits for."""
    return not hangs_sometimes(state.trials) and not _is_named(state)


def _is_named(state: Investigation) -> bool:
    return any(one.status in ("confirmed", "likely") and _is_cause(one) for one in (*state.before, *state.found))


def _questions(state: Investigation) -> list[Step]:
    """Where all that was found may be without consequence: what decides whether it matters. A program that the device stops nowhere may
    read memory that nothing wrote and not use it, and one that passes may have a race in which either access can come first."""
    found = [one for one in agreed((*state.before, *state.found)) if explains(one)]
    local = [unset_variables.is_of_local(one) for one in found]
    fresh = [one.cause == uninitialized.CAUSE and not uninitialized.is_of_shared(one) for one in found]
    order = [state.symptom == "no failure" and races.may_be_harmless(one) for one in found]
    may_not = state.symptom in uninitialized.IF_IT_MATTERS and all(map(any, zip(fresh, order, strict=True)))
    other = [one and not of_local for one, of_local in zip(fresh, local, strict=True)]
    return [step for step, one in ((POISON, other), (FILLED, local), (REVERSED, order)) if any(one)] if may_not else []


def _is_without_consequence(question: Step, state: Investigation) -> bool:
    """Did the program do the same whatever fresh memory held, or in whichever order work-items ran? Then other causes are looked for."""
    if question is REVERSED:
        return races.is_without_consequence(state)
    if question is FILLED:
        return unset_variables.makes_no_difference(state.trials)
    poisoned = observed(state.trials).get(POISONED)
    return poisoned is not None and poisoned.looks_alike


def _is_short(state: Investigation) -> bool:
    """Does a run take so little that one which only adds to the evidence costs nothing?"""
    return all(trial.seconds < SHORT_S for trial in state.trials if trial.experiment == "recorded")


PRECISE = ("memcheck", "dump", WHICH_BUFFER.experiment, "fenced-dump", "low-fenced-dump", "checked")


def _is_vague(state: Investigation) -> bool:
    """Is the access known, but not its address, or which argument's memory it missed? Another instrument may say that."""
    found = [one for one in agreed((*state.before, *state.found)) if explains(one)]
    return all(by_page(one) or (tells(one.cause) in ("access", "memory") and is_unnamed(one)) for one in found)


def _open_step(step: Step, state: Investigation, runnable: Collection[str]) -> Step | None:
    if step in (ORDERED, RACES, USED_EARLY):
        only = {RACES: ordered.EDGE, USED_EARLY: ordered.TRANSFERS}.get(step)
        wanted = ordered.next_run(state.trials, [name for name in runnable if only in (None, base(name))])
        return Step(wanted.experiment, wanted.why, wanted.runs) if wanted else None
    if step is REVERSED:
        order = races.next_run(state, runnable)
        return Step(order.experiment, order.why, order.runs) if order else None
    if step is ORDER_FIRST:
        return _order_first(state, runnable)
    if step is LONGER and not (_was_stopped_early(state) and may_be_slow(state)):
        return None
    if step in (FILLED, WIDENED):
        edited = (unset_variables if step is FILLED else widened).next_run(state.trials, runnable)
        return Step(edited.experiment, edited.why, edited.runs) if edited else None
    if step is SHARED_AGAIN:
        again = uninitialized.next_of_shared(state.trials)
        return Step(*again, _made(state.trials, again[0]) + 1) if again and again[0] in (*runnable, "recorded") else None
    if step is WHICH_MEMORY:
        next_one = which_memory.next_run(state, runnable)
        return Step(next_one.experiment, next_one.why, next_one.runs) if next_one else None
    if step is WHICH_BUFFER:
        buffer = which_memory.next_buffer(state, runnable)
        return Step(buffer.experiment, buffer.why, buffer.runs) if buffer else None
    if step in (EXCHANGED, SCALED, REDIRECTED, OTHER_NUMBER, EDITED_KERNEL):
        tried = exchanged.next_run(state.trials, runnable, step.experiment)
        return Step(tried.experiment, tried.why, tried.runs) if tried else None
    return replace(step, runs=_runs(step, state)) if _is_open(step, state, runnable) else None


def _order_first(state: Investigation, runnable: Collection[str]) -> Step | None:
    """Waiting costs little: one run in which transfers are complete when their call returns. Where the failure is gone in it, the runs that
    decide come before all other instruments."""
    name = ordered.TRANSFERS
    made = [trial.outcome for trial in state.trials if trial.experiment == name]
    if name in runnable and not made:
        return Step(name, ordered.WHY[name], 1)
    wanted = ordered.next_run(state.trials, [one for one in runnable if base(one) == name]) if set(made) == {"passed"} else None
    return Step(wanted.experiment, wanted.why, wanted.runs) if wanted else None


STOPPED_EARLY_S = 15.0


def _was_stopped_early(state: Investigation) -> bool:
    """Was the program stopped because nothing moved, after a time that a slow kernel may take?"""
    plain = [trial for trial in state.trials if trial.experiment == "recorded"]
    return bool(plain) and plain[0].ending == HUNG and plain[0].seconds < STOPPED_EARLY_S


def _runs(step: Step, state: Investigation) -> int:
    """More where the first ones show that more of them decide; fewer where each of them ends like the plain runs."""
    if step.experiment == POISONED and which_memory.was_asked(state.trials):
        made = [trial.outcome for trial in state.trials if trial.experiment == POISONED]
        if set(made) <= {"reproduced"}:
            return REPEAT
    return max(step.runs, uninitialized.runs_wanted(state.trials)) if step.experiment == POISONED else step.runs


def _is_open(step: Step, state: Investigation, runnable: Collection[str]) -> bool:
    able = step.experiment in runnable or step.experiment == "recorded"
    lost = sum(t.outcome in ("tool missing", "not reached") for t in state.trials if t.experiment == step.experiment)
    known = {mark for trial in state.trials if trial.experiment == "recorded" for mark in trial.fingerprints}
    wanted = not step.after or any(t.experiment == step.after and _is_unclean(t, known) for t in state.trials)
    wanted = wanted and not any(t.experiment == step.unless and _is_all_clear(t) for t in state.trials)
    return able and wanted and not lost and _made(state.trials, step.experiment) < _runs(step, state)


def _is_unclean(trial: Trial, known: Collection[str]) -> bool:
    """Did it show something, or end with something in its record that plain runs do not have?"""
    return bool(trial.shown) or (
        trial.outcome not in ("not reached", "tool missing") and bool(set(trial.fingerprints) - set(known))
    )


def _is_all_clear(trial: Trial) -> bool:
    """Did an instrument look at everything it is made for, and name nothing?"""
    return trial.outcome in ("passed", "reproduced") and not trial.shown and not trial.blind


def _made(trials: Sequence[Trial], experiment: str) -> int:
    return sum(trial.experiment == experiment for trial in trials)


TELLING = ("gone", "may go", "shown", "may show", "rarer", "more often")  # predictions that could confirm a cause
SEES = {
    "runtime-errors": "calls that the CUDA runtime refuses",
    "fenced": "accesses past the end of buffers and after their release",
    "low-fenced": "accesses before the start of buffers",
    "close-fenced": "reads close to the end of buffers",
    "memcheck": "invalid accesses in kernels",
    "checked": "accesses, races and barriers inside OpenCL kernels",
    "initcheck": "uninitialized reads of global memory",
    "poisoned": "results that depend on uninitialized memory",
    "filled-variables": "results that depend on variables which a kernel has not set",
    "racecheck": "races in shared memory",
    "global-races": "races between blocks in global memory",
    "shared-memory": "reads of unwritten shared memory, and masks of warps",
    "synccheck": "barriers",
}


def clean(state: Investigation) -> str:
    """What every instrument that looked found nothing wrong with, and what was not checked."""
    looked = [trial for trial in state.trials if not trial.blind.startswith(NOTHING_CHECKED)]
    ran = {trial.experiment for trial in looked if trial.outcome in ("passed", "reproduced")}
    showed = {trial.experiment for trial in state.trials if trial.shown}
    seen = [what for name, what in SEES.items() if name in ran - showed]
    useless = {name for name, why in state.not_run if why == NOT_CUDA}
    left = [what for name, what in SEES.items() if name not in ran | useless]
    checked = f"Checked without a finding: {'; '.join(seen)}." if seen else "No instrument could check it."
    return f"{checked} Not checked: {'; '.join(left)}." if left else checked


def is_steady(state: Investigation) -> bool:
    """Does it fail in every plain run, or hang, and does the record suggest no cause? Then no rate is left to be estimated. A cause
    that is only likely is still put to the test."""
    plain = [trial.outcome for trial in state.trials if trial.experiment == "recorded"]
    likely = [entry for entry in (*state.before, *state.found) if entry.status == "likely" and _is_cause(entry)]
    suggested = not all(_is_untestable(entry) or _is_out_of_reach(entry, state) for entry in likely)
    every_time = len(plain) >= REPEAT and set(plain) == {"reproduced"}
    return state.symptom == "hang" or (every_time and not suggested)


def _seen_but_untestable(state: Investigation) -> bool:
    return any(entry.status == "likely" and _is_cause(entry) and _is_untestable(entry) for entry in state.found)


def _is_untestable(entry: Diagnosis) -> bool:
    """An instrument saw it, and no experiment predicts more than that the failure stays: none can confirm it."""
    predicted = every_cause()[entry.cause].predictions.values()
    return entry.observed and not any(one.expects in TELLING for one in predicted)


def _is_out_of_reach(entry: Diagnosis, state: Investigation) -> bool:
    """Has each experiment that could show it been made without seeing it, and would another run of it see no more? So it is where the
    device faults every time and reports no address."""
    if not which_memory.was_asked(state.trials):
        return False
    cannot = {name for name, _ in state.not_run}
    telling = {name for name, one in every_cause()[entry.cause].predictions.items() if one.expects in TELLING}
    made = {trial.experiment for trial in state.trials if trial.outcome == "reproduced" and not trial.shown}
    return telling <= cannot | made | {step.experiment for step in (*EDGES, SERIALISED)}


def _is_cause(entry: Diagnosis) -> bool:
    cause = every_cause().get(entry.cause)
    return cause is not None and cause.kind not in (WHERE, PROGRAM)
