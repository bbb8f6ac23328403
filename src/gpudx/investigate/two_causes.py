"""A program that fails in two unlike ways may have two causes: each failure is investigated by itself, within the same budget.

Failures are told apart by their faults and by how the program ended. Output alone does not separate them: a race prints something
else each time. A second cause is reported only where the runs of the second failure show one that the first one's do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from gpudx.investigate.agreement import kernel_of
from gpudx.investigate.choice import Plan
from gpudx.investigate.conclude import entries_of
from gpudx.investigate.loop import Keep, Lab, Limits, Progress, Result, investigate, with_run
from gpudx.investigate.observed import PLAIN, Observed
from gpudx.lab.trials import Interrupted
from gpudx.model import Diagnosis, Evidence, Failure, Investigation, Trial
from gpudx.text import plural

REPEATS = 4  # plain runs of a program that fails, before its failures are taken to be alike
SAME = 2  # of one that does the same in each of them, to the last byte and the last finding
MOST_RUNS = 6  # of all kinds, for a program that fails the same way each time
DOUBTS = 8  # plain runs, where the program itself ended in another way under an experiment that named a cause
SHARE, DOUBTS_SHARE = 0.1, 0.5  # of the budget, at most, to see whether there is another failure
TRIES = 4  # of an experiment that keeps ending in the other failure
UNLIKE = ("another failure", "timeout")
FINAL = ("settled", "nothing left that separates them")
EXIT = "exit:"
WHY = "whether it fails in another way, too"


class ReadingLab(Lab, Protocol):
    """A lab that can look at a run again."""

    def read(self, trial: Trial) -> Result:
        """What the run gave."""

    def seen_as(self, trial: Trial, failure: Failure) -> Trial:
        """What the run means if this is the failure that is looked for."""


@dataclass
class OneFailure:
    """A lab in which the other failure does not happen: its runs are put aside, and made again."""

    lab: ReadingLab
    own: Failure
    other: Failure
    aside: list[Trial] = field(default_factory=list)

    def run(self, experiment: str, state: Investigation) -> Result:
        for _ in range(TRIES):
            result = self.lab.run(experiment, state)
            if not is_of(result.failure, self.other, self.own):
                return result
            self.aside.append(result.trial)
        return Result(replace(self.aside.pop(), outcome="another failure", shown=()))

    @property
    def threads(self) -> int:
        return self.lab.threads

    @property
    def launches(self) -> int:
        return self.lab.launches

    @property
    def costs(self) -> Mapping[str, float]:
        return self.lab.costs

    @property
    def asked(self) -> tuple[str, ...]:
        return self.lab.asked

    @property
    def is_chosen(self) -> bool:
        return self.lab.is_chosen

    @property
    def mitigations(self) -> frozenset[str]:
        return self.lab.mitigations

    @property
    def not_run(self) -> Mapping[str, str]:
        return self.lab.not_run

    def elapsed(self) -> float:
        return self.lab.elapsed()


def is_of(failure: Failure | None, this: Failure, not_this: Failure) -> bool:
    """Is it one of the two failures, and not the other? An ending that neither has may be of both: an instrument ends programs."""
    return failure is not None and _alike(failure, this) and not _alike(failure, not_this)


def _alike(a: Failure, b: Failure) -> bool:
    if a.fingerprints and b.fingerprints:
        return bool({*a.fingerprints} & {*b.fingerprints})
    return a.ending == b.ending and a.device_error == b.device_error


def with_second_cause(
    state: Investigation, lab: ReadingLab, limits: Limits, keep: Keep, tell: Progress
) -> Investigation:
    """The state of a finished investigation, with what was found out about a second failure, if there is one."""
    if state.failure is None or state.stopped not in FINAL or lab.is_chosen or lab.asked or limits.runs is not None:
        return state
    made = len(state.trials)
    try:
        state = _repeated(state, lab, limits, keep, tell)
    except (Interrupted, KeyboardInterrupt):
        return replace(state, stopped="interrupted")
    if len(state.trials) > made:
        state = investigate(state, lab, limits, keep, tell)
    other = next((trial for trial in _plain(state.trials) if trial.outcome in UNLIKE), None)
    if other is None or state.stopped not in FINAL:
        return state
    return _both(state, lab.read(other), lab, limits, tell)


def _repeated(state: Investigation, lab: ReadingLab, limits: Limits, keep: Keep, tell: Progress) -> Investigation:
    """A few more plain runs, where they are cheap, until one fails in another way."""
    doubtful = any(map(_is_doubtful, state.trials)) and state.failure is not None and _by_itself(state.failure.ending)
    allowed = lab.elapsed() + (DOUBTS_SHARE if doubtful else SHARE) * limits.budget_s
    while True:
        plain = _plain(state.trials)
        wanted = DOUBTS if doubtful else min(REPEATS, MOST_RUNS - len(state.trials) + len(plain))
        ready = lab.elapsed() + sum(trial.seconds for trial in plain) / len(plain)
        enough = len(plain) >= (SAME if _are_alike(plain) and not doubtful else wanted) or any(trial.outcome in UNLIKE for trial in plain)
        if enough or state.symptom == "settled" or ready > min(allowed, limits.budget_s):
            return state
        tell(Plan(PLAIN, wanted, WHY), Observed(PLAIN, plain), limits.budget_s - lab.elapsed())
        state = with_run(state, lab.run(PLAIN, state))
        keep(state)


def _are_alike(plain: Sequence[Trial]) -> bool:
    """Did all of them end and print alike, with the same findings, so that chance has no part in the failure?"""
    first = plain[0]
    return bool(first.fingerprints) and all(
        (one.ending, one.output, one.fingerprints) == (first.ending, first.output, first.fingerprints) for one in plain
    )


def _is_doubtful(trial: Trial) -> bool:
    return trial.outcome == "another failure" and bool(trial.shown) and _by_itself(trial.ending)


def _by_itself(ending: str) -> bool:
    """An instrument may end a program by a signal; an exit status is the program's own."""
    return ending.startswith(EXIT)


def _plain(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    return tuple(trial for trial in trials if trial.experiment == PLAIN)


def _both(state: Investigation, second: Result, lab: ReadingLab, limits: Limits, tell: Progress) -> Investigation:
    """Each failure with the runs that are its own, and with those that passed."""
    first, other = state.failure, second.failure
    assert first is not None and other is not None
    failures = {trial.folder: lab.read(trial).failure for trial in state.trials}
    of_first = [t for t in state.trials if not is_of(failures[t.folder], other, first)]
    of_other = [t for t in state.trials if not is_of(failures[t.folder], first, other)]
    mine = {cause for trial in of_first for cause in trial.shown}
    alone = OneFailure(lab, first, other)
    one = replace(state, trials=tuple(of_first), found=tuple(e for e in state.found if e.cause in mine))
    if len(of_first) < len(state.trials):
        one = investigate(one, alone, limits, tell=tell)
    begin = replace(
        state,
        trials=tuple(lab.seen_as(trial, other) for trial in of_other),
        failure=other,
        symptom=second.symptom,
        before=second.diagnosis,
        found=tuple(_shown(lab, of_other)),
        told=(),
    )
    beside = OneFailure(lab, other, first)
    two = investigate(begin, beside, limits, tell=tell) if one.stopped != "interrupted" else begin
    trials = _in_order(
        state.trials, one.trials, alone.aside, (lab.seen_as(t, first) for t in (*two.trials, *beside.aside))
    )
    stopped = "interrupted" if "interrupted" in (one.stopped, two.stopped) else one.stopped
    return replace(one, trials=trials, stopped=stopped, also=_also(one, two, trials))


def _shown(lab: ReadingLab, trials: Iterable[Trial]) -> Iterable[Diagnosis]:
    """What experiments showed in these runs."""
    for trial in trials:
        if trial.shown:
            yield from (entry for entry in lab.read(trial).diagnosis if entry.cause in trial.shown)


def _in_order(*lists: Iterable[Trial]) -> tuple[Trial, ...]:
    """Every run once, as they were made."""
    return tuple(one for _, one in sorted({trial.folder: trial for some in lists for trial in some}.items()))


def _also(one: Investigation, two: Investigation, trials: tuple[Trial, ...]) -> tuple[Diagnosis, ...]:
    """The causes of the second failure that the first one does not have, and how often it came."""
    known = [entry for entry in entries_of(one) if entry.status in ("confirmed", "likely")]
    new = [
        entry
        for entry in entries_of(two)
        if entry.status in ("confirmed", "likely") and not any(_same_fault(entry, other) for other in known)
    ]
    plain = _plain(trials)
    often = sum(trial.outcome in UNLIKE for trial in plain)
    assert two.failure is not None
    said = Evidence(f"{often} of {plural(len(plain), 'plain run')} ended with {_ending(two.failure.ending)}")
    return tuple(replace(entry, evidence=(said, *entry.evidence)) for entry in new)


def _same_fault(a: Diagnosis, b: Diagnosis) -> bool:
    """Two runs may name one fault by another cause, or one race by its other kernel: only what was seen in two kernels is two."""
    kernels = kernel_of(a), kernel_of(b)
    if None in kernels:
        return a.cause == b.cause
    return kernels[0] == kernels[1] or (a.cause == b.cause and not (a.observed and b.observed))


def _ending(word: str) -> str:
    """ "exit:3" for people."""
    return f"status {word.removeprefix(EXIT)}" if word.startswith(EXIT) else word.removeprefix("signal:")
