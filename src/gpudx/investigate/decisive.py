"""Decisive experiments first: what the first run showed decides the plan, and a step is run only while the cause is open.

Statistics come last: a fault that an instrument can see needs one run under that instrument, not a rate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpudx.causes import every as every_cause
from gpudx.investigate import ordered, uninitialized
from gpudx.investigate.uninitialized import POISONED
from gpudx.model import Case, Diagnosis, FailureClass, Investigation, Trial
from gpudx.model.cause_kinds import PROGRAM, WHERE

REPEAT = 2  # plain runs of a fault that the record settles: the second says whether it repeats
QUIET = 3  # plain runs of a program that shows no failure, after every instrument has looked at it
DEVICE_ERROR = "device-error-reported"
HANG = "hang"


@dataclass(frozen=True)
class Step:
    """One experiment of a plan: what it is run for, and how often."""

    experiment: str
    why: str
    runs: int = 1
    after: str = ""  # only where this experiment, run before, did not end cleanly
    unless: str = ""  # not where this experiment looked at everything and found nothing


ACCESS = (
    Step("memcheck", "which access of which thread is invalid"),
    Step("checked", "which access of which work-item leaves its buffer"),
    Step("dump", "the faulting instruction and its registers, from the device"),
)
BOUNDS = (
    Step("checked", "accesses outside buffers, races and barriers inside kernels"),
    Step("fenced", "accesses past the end of a buffer, or after its release"),
    Step("fenced-dump", "which access met the fence", after="fenced"),
    Step("memcheck", "invalid accesses in kernels"),
    Step("low-fenced", "accesses before the start of a buffer", unless="checked"),
    Step("close-fenced", "reads a few bytes past the end of a buffer", unless="checked"),
)
UNINITIALIZED = (
    Step("initcheck", "reads of uninitialized memory"),
    Step("poisoned", "whether the outcome depends on uninitialized memory", 4),
)
HOST_MEMORY = Step("host-memory", "whether the host changes memory that a kernel is reading")
INSIDE = (
    Step("racecheck", "races in shared memory"),
    Step("synccheck", "barriers that not every thread reaches"),
)
ORDERED = Step("order", "whether a missing order or wait is the cause")  # as many runs as that takes: ordered.py
ORDER = (
    Step("serialised", "whether launches that overlap matter", 2),
    Step("turns", "whether threads that share a kernel object matter", 2),
    Step("one-thread", "whether host threads matter", 2),
    Step("watched", "writes that land in other buffers"),
)
REPEATS = Step("recorded", "whether it fails every time", 3)
PLANS: dict[FailureClass, tuple[Step, ...]] = {
    "settled": (),
    "device error": (
        *ACCESS,
        *BOUNDS,
        *INSIDE,
        *UNINITIALIZED,
        Step("serialised", "which launch the device stops in"),
        REPEATS,
    ),
    "crash": (
        *BOUNDS,
        Step("oclgrind", "invalid accesses, in an OpenCL simulator"),
        ORDERED,
        *INSIDE,
        *UNINITIALIZED,
        REPEATS,
        *ORDER,
    ),
    "hang": (Step("checked-loops", "barriers and loops that never end"), *INSIDE, *BOUNDS),
    "wrong result": (
        *BOUNDS,
        HOST_MEMORY,
        ORDERED,
        *UNINITIALIZED,
        *INSIDE,
        REPEATS,
        Step("checked-numbers", "where the first NaN comes from"),
        *ORDER,
        Step("oclgrind", "invalid accesses and races"),
    ),
    "no failure": (*BOUNDS, HOST_MEMORY, *INSIDE, *UNINITIALIZED),
    "": (),
}


def symptom(case: Case) -> FailureClass:
    """The class of what a run showed. A recorded device error is a failure, whatever the exit status."""
    if any(map(explains, case.diagnosis)):
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


def explains(entry: Diagnosis) -> bool:
    """Is it a cause that stands, and not only the place where a failure became visible, or which program ran?"""
    return entry.status == "confirmed" and _is_cause(entry)


def answered(state: Investigation) -> bool:
    """Has a run shown the cause?"""
    return any(map(explains, (*state.before, *state.found)))


def next_step(state: Investigation, runnable: Collection[str]) -> Step | None:
    """The first step of the plan that can be run and was not; None when there is none, or the cause is known."""
    if state.symptom == "settled":
        wanted = Step("recorded", "whether it repeats", REPEAT)
        return wanted if _made(state.trials, "recorded") < REPEAT else None
    if answered(state):
        return None
    plan: Sequence[Step] = PLANS[state.symptom]
    if state.symptom == "no failure":
        plan = (*plan, Step("recorded", "whether it fails sometimes", QUIET))
    return next(filter(None, (_open_step(step, state, runnable) for step in plan)), None)


def _open_step(step: Step, state: Investigation, runnable: Collection[str]) -> Step | None:
    if step is ORDERED:
        wanted = ordered.next_run(state.trials, runnable)
        return Step(wanted.experiment, wanted.why, wanted.runs) if wanted else None
    return step if _is_open(step, state, runnable) else None


def _is_open(step: Step, state: Investigation, runnable: Collection[str]) -> bool:
    able = step.experiment in runnable or step.experiment == "recorded"
    lost = sum(t.outcome in ("tool missing", "not reached") for t in state.trials if t.experiment == step.experiment)
    runs = max(step.runs, uninitialized.runs_wanted(state.trials)) if step.experiment == POISONED else step.runs
    wanted = not step.after or any(t.experiment == step.after and _is_unclean(t) for t in state.trials)
    wanted = wanted and not any(t.experiment == step.unless and _is_all_clear(t) for t in state.trials)
    return able and wanted and not lost and _made(state.trials, step.experiment) < runs


def _is_unclean(trial: Trial) -> bool:
    return trial.outcome not in ("passed", "not reached", "tool missing") or bool(trial.shown)


def _is_all_clear(trial: Trial) -> bool:
    """Did an instrument look at everything it is made for, and name nothing?"""
    return trial.outcome in ("passed", "reproduced") and not trial.shown and not trial.blind


def _made(trials: Sequence[Trial], experiment: str) -> int:
    return sum(trial.experiment == experiment for trial in trials)


SEES = {
    "fenced": "accesses past the end of buffers and after their release",
    "low-fenced": "accesses before the start of buffers",
    "close-fenced": "reads close to the end of buffers",
    "memcheck": "invalid accesses in kernels",
    "checked": "accesses, races and barriers inside OpenCL kernels",
    "initcheck": "uninitialized reads of global memory",
    "poisoned": "results that depend on uninitialized memory",
    "racecheck": "races in shared memory",
    "synccheck": "barriers",
}


def clean(state: Investigation) -> str:
    """What every instrument that looked found nothing wrong with, and what was not checked."""
    ran = {trial.experiment for trial in state.trials if trial.outcome in ("passed", "reproduced") and not trial.shown}
    seen = [what for name, what in SEES.items() if name in ran]
    left = [what for name, what in SEES.items() if name not in ran]
    checked = f"Checked without a finding: {'; '.join(seen)}." if seen else "No instrument could look at it."
    return f"{checked} Not checked: {'; '.join(left)}." if left else checked


def is_steady(state: Investigation) -> bool:
    """Does it fail in every plain run, or hang, and does the record suggest no cause? Then no rate is left to be estimated. A cause
    that is only likely is still put to the test."""
    plain = [trial.outcome for trial in state.trials if trial.experiment == "recorded"]
    suggested = any(entry.status == "likely" and _is_cause(entry) for entry in (*state.before, *state.found))
    every_time = len(plain) >= REPEAT and set(plain) == {"reproduced"}
    return state.symptom == "hang" or (every_time and not suggested)


def _is_cause(entry: Diagnosis) -> bool:
    cause = every_cause().get(entry.cause)
    return cause is not None and cause.kind not in (WHERE, PROGRAM)
