"""Rival causes, the experiment that separates them best, runs, judgement, and again, until something stops it.

Everything follows from the trials: after an interruption or a crash the next call goes on where this one was. The lab is
whoever runs experiments; tests have one with known probabilities and no processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gpudx.investigate.callers import with_callers
from gpudx.investigate.choice import (
    ENOUGH_FAILURES,
    MOST_PLAIN,
    PARTLY,
    Plan,
    can_flip,
    next_asked,
    next_experiment,
    next_flip,
    next_to_show,
    plain_runs,
    recheck,
)
from gpudx.investigate.conclude import entries_of
from gpudx.investigate.decisive import answered, clean, is_steady, next_step
from gpudx.investigate.observed import HUNG, PLAIN, Observed, hangs_sometimes, observed
from gpudx.investigate.order_experiments import told_of_order
from gpudx.investigate.prediction import REPEATS, SHOWS, TWICE
from gpudx.investigate.suspects import Suspect, best_entries, has_python_line, shows, suspects
from gpudx.investigate.user_experiments import told
from gpudx.investigate.verdicts import CONFIRMING, judge
from gpudx.lab.trials import Interrupted
from gpudx.model import Diagnosis, Failure, FailureClass, Investigation, Row, Stop, Trial
from gpudx.model.diagnosis import OutcomeName
from gpudx.text import capital, plural

CONFIDENCE = 0.99
PLAIN_SHARE = 0.5  # of the budget that may go into plain runs, once it has failed twice
ENOUGH_FOR_A_RATE = 3  # plain runs; of fewer, any rate could be true


class OutOfTime(Exception):
    """Only the budget ended a run; it does not count."""


@dataclass(frozen=True)
class Limits:
    """When to stop, whatever is known by then. Both are for one call."""

    budget_s: float = 120.0
    runs: int | None = None


@dataclass(frozen=True)
class Result:
    """A trial and what its own diagnosis says; `failure` is what it failed of."""

    trial: Trial
    diagnosis: tuple[Diagnosis, ...] = ()
    failure: Failure | None = None
    symptom: FailureClass = ""  # of a plain run: which experiments come first


class Lab(Protocol):
    """Runs experiments on one program."""

    @property
    def threads(self) -> int:
        """Threads that make GPU calls; known after the first run, as are the others."""

    @property
    def launches(self) -> int: ...

    @property
    def costs(self) -> Mapping[str, float]:
        """The experiments that can be run, and how much longer than a plain run they take."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Those that the user asked for: run whatever they separate, and not among the others."""

    @property
    def is_chosen(self) -> bool:
        """Did the user name the experiments? Then rates are compared, too, where the plan has no more to run."""

    @property
    def mitigations(self) -> frozenset[str]: ...

    @property
    def not_run(self) -> Mapping[str, str]:
        """The others, and why they cannot be run."""

    def run(self, experiment: str, state: Investigation) -> Result:
        """One run. Interrupted when the user ended it, OutOfTime when the budget did."""

    def elapsed(self) -> float:
        """Seconds since this call began."""


Progress = Callable[[Plan, Observed, float], None]  # what is run next, what it showed so far, seconds left
Keep = Callable[[Investigation], None]


def investigate(
    state: Investigation, lab: Lab, limits: Limits, keep: Keep = lambda state: None, tell: Progress = lambda *_: None
) -> Investigation:
    """The state with its verdicts and the reason why it stopped. `keep` gets it after every run."""
    made = 0
    while True:
        seen = observed(state.trials)
        state = judged(state, seen, lab)
        plan = next_plan(state, seen, lab, limits)
        stopped = _stop(state, seen, lab, limits, plan, made)
        if stopped:
            return _ended(state, stopped)
        assert plan is not None
        tell(plan, seen.get(plan.experiment, Observed(plan.experiment)), limits.budget_s - lab.elapsed())
        try:
            state = with_run(state, lab.run(plan.experiment, state))
        except (Interrupted, KeyboardInterrupt):  # in the program, or in the analysis of its run
            return _ended(state, "interrupted")
        except OutOfTime:
            return _ended(state, "budget used up")
        made += 1
        keep(state)


def ahead(state: Investigation, lab: Lab, limits: Limits) -> Iterator[tuple[str, Investigation]]:
    """What will be run next as long as no run shows anything new: each experiment, and the state before it."""
    while state.trials:
        seen = observed(state.trials)
        state = judged(state, seen, lab)
        plan = next_plan(state, seen, lab, limits)
        if plan is None or _stop(state, seen, lab, limits, plan, 0):
            return
        yield plan.experiment, state
        state = without_news(state, plan.experiment)


def without_news(state: Investigation, experiment: str) -> Investigation:
    """The state after a run that ended as the last one of this experiment did, or else as the last plain one."""
    same = [trial for trial in state.trials if trial.experiment == experiment]
    plain = [trial for trial in state.trials if trial.experiment == PLAIN]
    outcome: OutcomeName = "reproduced" if state.failure else "passed"
    alike = same[-1] if same else replace(plain[-1], experiment=experiment, outcome=outcome, shown=(), blind="")
    return replace(state, trials=(*state.trials, replace(alike, fresh=str(len(same)))))


def with_run(state: Investigation, result: Result) -> Investigation:
    """The state with one more run. The first plain run that failed says what is looked for; until then, the record does."""
    first = not state.trials
    if state.symptom == "hang" and _ends_by_itself(result.trial) and not hangs_sometimes((*state.trials, result.trial)):
        state = _only_slow(state)
    state = replace(state, trials=(*state.trials, result.trial), stopped="", reason="")
    if state.failure is None and result.trial.experiment == PLAIN:
        if first or result.failure is not None or not state.symptom:
            state = replace(state, symptom=result.symptom)
        if result.failure is not None:
            return replace(state, failure=result.failure, before=result.diagnosis)
        shown = result.trial.shown
        certain = [
            e for e in result.diagnosis if e.status == "confirmed" or result.symptom == "settled" or e.cause in shown
        ]
        return replace(state, before=state.before or tuple(certain))
    known = best_entries(state)
    new = [
        one
        for one in result.diagnosis
        if (one.cause in result.trial.shown and (one.cause not in known or shows(one) > shows(known[one.cause])))
        or (one.cause in known and _only_adds_the_line(one, known[one.cause]))
    ]
    before = tuple(with_callers(one, result.diagnosis) for one in state.before)
    if result.trial.experiment == PLAIN and result.trial.outcome == "reproduced":
        before = tuple(_confirmed_by(result.diagnosis, one) for one in before)
    return replace(state, before=before, found=(*state.found, *new))


def _confirmed_by(diagnosis: Sequence[Diagnosis], known: Diagnosis) -> Diagnosis:
    """What the first run's record made likely, and another plain run's record confirms: it crashed where that is certain."""
    firm = next((one for one in diagnosis if one.cause == known.cause and one.status == "confirmed"), None)
    return firm if firm is not None and known.status == "likely" else known


def _ends_by_itself(trial: Trial) -> bool:
    """Did a run of a program that seemed to hang come to its end? Instruments make it slower, and show nothing where they left a loop."""
    return trial.outcome not in ("not reached", "tool missing") and trial.ending != HUNG and not trial.shown


def _only_slow(state: Investigation) -> Investigation:
    """The program ends if it is given more time: the runs that were stopped say nothing."""
    stopped = tuple(replace(one, outcome="timeout") if one.ending == HUNG else one for one in state.trials)
    return replace(state, trials=stopped, failure=None, before=(), found=(), symptom="", also=())


def _only_adds_the_line(entry: Diagnosis, known: Diagnosis) -> bool:
    """The same finding, from a run that recorded where calls were made."""
    same = bool(set(entry.findings) & set(known.findings)) and entry.status == known.status
    return same and has_python_line(entry) and not has_python_line(known) and shows(entry) > shows(known)


def judged(state: Investigation, seen: Mapping[str, Observed], lab: Lab) -> Investigation:
    """The state with its table. Before there is a failure, only what stands in the record is put to the test."""
    accused = suspects(state, lab.threads, lab.launches, lab.costs)
    if state.failure is None:
        accused = tuple(one for one in accused if one.entry is not None)
    rows = judge(accused, seen, tuple(lab.costs), lab.mitigations, level(state, lab), lab.not_run)
    said = (*told(state.asked, seen, level(state, lab)), *told_of_order(seen))
    return replace(state, table=rows, told=said, not_run=tuple(lab.not_run.items()))


def level(state: Investigation, lab: Lab) -> float:
    """What may go wrong is shared out among the experiments, so that many of them are not many chances to be wrong."""
    return (1 - state.confidence) / max(1, len(lab.costs) + len(lab.asked))


def next_plan(state: Investigation, seen: Mapping[str, Observed], lab: Lab, limits: Limits) -> Plan | None:
    """The first run decides the plan. The decisive steps first; then plain runs, until the rate is known; then what the user
    asked for, and what separates best."""
    if not state.trials:
        return Plan(PLAIN, 1, "how it ends")
    if state.symptom:
        step = next_step(state, _affordable(seen, lab, limits))
        if step is not None:
            return Plan(step.experiment, step.runs, step.why)
        if not lab.is_chosen and (state.symptom == "settled" or answered(state) or state.failure is None or is_steady(state)):
            return _asked_and_rechecked(seen, lab, level(state, lab)) if state.failure else None
    if _is_decided_by_no_rate(state, seen, lab):
        return _asked_and_rechecked(seen, lab, level(state, lab))
    on_record = state.failure is None and (bool(state.table) or can_flip(lab.costs))
    wanted = ENOUGH_FAILURES if on_record else plain_runs(seen[PLAIN])
    if wanted > len(seen[PLAIN].trials) and not _rate_must_do(seen[PLAIN], lab, limits):
        return Plan(PLAIN, wanted)
    if on_record:
        named = [one for one in _standing(state, lab) if one.entry]
        again = recheck(seen, level(state, lab)) or next_flip(seen, lab.costs, level(state, lab))
        return again or next_to_show(named, seen, lab.costs)
    if state.failure is None or seen[PLAIN].rate.failures < TWICE:  # too rare for a rate; what is held back needs none
        return next_flip(seen, lab.costs, level(state, lab)) if can_flip(lab.costs) else None
    again = recheck(seen, level(state, lab))
    asked = next_asked(lab.asked, seen, level(state, lab))
    flip = next_flip(seen, lab.costs, level(state, lab))
    if again or asked or flip:
        return again or asked or flip
    least = PARTLY / 2 if any(row.status == "confirmed" for row in state.table) else 0.0
    return next_experiment(_standing(state, lab), seen, lab.costs, level(state, lab), least)


def _is_decided_by_no_rate(state: Investigation, seen: Mapping[str, Observed], lab: Lab) -> bool:
    """Does a wrong result come in every plain run, and can no experiment confirm a cause that is suggested? Then more runs of instruments
    that showed nothing only refute what nobody suggested."""
    plain = seen[PLAIN].rate
    if lab.is_chosen or state.symptom != "wrong result" or plain.runs < REPEATS or plain.failures < plain.runs:
        return False
    named = [one for one in _standing(state, lab) if one.entry]
    return bool(named) and not any(_may_confirm(one, name, seen) for one in named for name in lab.costs)


def _may_confirm(one: Suspect, experiment: str, seen: Mapping[str, Observed]) -> bool:
    """Is there a prediction that would confirm it, and that no run has come out against yet?"""
    so_far = seen.get(experiment, Observed(experiment))
    expects = one.expects(experiment)
    if expects in SHOWS:
        return not so_far.trials or bool(so_far.showed(one.shown_as))
    useless = so_far.rate.failures or so_far.silent.total()
    return expects in ("gone", "may go", "rarer", "more often") and not useless


def _asked_and_rechecked(seen: Mapping[str, Observed], lab: Lab, share: float) -> Plan | None:
    """What the user asked for. Where it made the failure go away, plain runs must fail again before that means anything."""
    asked = {name: one for name, one in seen.items() if name == PLAIN or name in lab.asked}
    return recheck(asked, share) or next_asked(lab.asked, seen, share)


def _affordable(seen: Mapping[str, Observed], lab: Lab, limits: Limits) -> list[str]:
    """Experiments that a run of the time that is left can hold."""
    left = limits.budget_s - lab.elapsed()
    return [name for name in lab.costs if _expected(seen, lab, Plan(name, 1)) <= left]


def _rate_must_do(plain: Observed, lab: Lab, limits: Limits) -> bool:
    """A slow program must leave time for experiments."""
    return plain.rate.failures >= TWICE and lab.elapsed() > PLAIN_SHARE * limits.budget_s


def _standing(state: Investigation, lab: Lab) -> list[Suspect]:
    refuted = {row.cause for row in state.table if row.status == "refuted"}
    return [one for one in suspects(state, lab.threads, lab.launches, lab.costs) if one.cause.id not in refuted]


def _stop(
    state: Investigation, seen: Mapping[str, Observed], lab: Lab, limits: Limits, plan: Plan | None, made: int
) -> Stop:
    """The named reason to stop now; "" to go on. A wrong result is not settled by a read that it does not depend on."""
    stopped = _why_stop(state, seen, lab, limits, plan, made)
    unsettled = stopped == "settled" and state.symptom == "wrong result" and not _is_likely(state)
    return "nothing left that separates them" if unsettled else stopped


def _why_stop(
    state: Investigation, seen: Mapping[str, Observed], lab: Lab, limits: Limits, plan: Plan | None, made: int
) -> Stop:
    plain = seen[PLAIN]
    quiet = plain.rate.failures < min(TWICE, plain.rate.runs)
    shown = state.symptom != "" and answered(state) and (state.symptom != "no failure" or _is_likely(state))
    if not lab.is_chosen and plan is None and (state.symptom == "settled" or shown):
        return "settled"
    if not lab.is_chosen and state.symptom == "no failure" and plan is None and (lab.launches or lab.threads):
        return "settled" if _is_likely(state) else "no fault found"
    if state.failure and _settled(state.table) and (plan is None or plan.experiment not in lab.asked):
        return "settled"
    if plan is None and not lab.launches and not lab.threads and plain.trials and not (lab.asked and not quiet):
        return "nothing to investigate"
    if plan is None and quiet:
        return "settled" if _was_shown(state.table) else "the failure did not reproduce"
    if plan is None and not _confirmed(state.table) and state.symptom and next_step(state, list(lab.costs)) is not None:
        return "budget used up"  # a run of what is left takes longer than the rest of it
    if plan is None:
        return "settled" if _confirmed(state.table) else "nothing left that separates them"
    if limits.runs is not None and made >= limits.runs:
        return "the failure did not reproduce" if quiet else "runs used up"
    if lab.elapsed() + _expected(seen, lab, plan) > limits.budget_s and made:
        return "the failure did not reproduce" if quiet and plain.rate.runs >= TWICE else "budget used up"
    return ""


def _expected(seen: Mapping[str, Observed], lab: Lab, plan: Plan) -> float:
    """Seconds that the next run will take."""
    alike = seen.get(plan.experiment)
    factor = 1.0 if alike else lab.costs.get(plan.experiment, 1.0)
    times = [trial.seconds for trial in (alike or seen[PLAIN]).trials if alike or trial.ending != HUNG]
    hung = [trial.seconds for trial in seen[PLAIN].trials if trial.ending == HUNG]
    return factor * sum(times) / len(times) if times else min(hung, default=0.0)


def _is_likely(state: Investigation) -> bool:
    """Is there something that is likely the cause, though no run failed by itself? Only what the verdict names counts."""
    return any(entry.status in ("confirmed", "likely") for entry in entries_of(state))


def _confirmed(table: tuple[Row, ...]) -> list[str]:
    return [row.cause for row in table if row.status == "confirmed"]


def _was_shown(table: tuple[Row, ...]) -> bool:
    return any(cell.expects in CONFIRMING and cell.weight == "for" for row in table for cell in row.cells)


def _settled(table: tuple[Row, ...]) -> bool:
    """One is confirmed by experiments or the record, and all others are refuted."""
    return bool(_confirmed(table)) and all(row.status in ("confirmed", "refuted") for row in table)


def _ended(state: Investigation, stopped: Stop) -> Investigation:
    return replace(state, stopped=stopped, reason=_reason(state, stopped))


def _reason(state: Investigation, stopped: Stop) -> str:
    plain = observed(state.trials)[PLAIN]
    rate = _how_often(state, plain)
    comes_and_goes = 0 < plain.rate.failures < plain.rate.runs
    fits = f" (failure rate: {plain.range}, 95% interval)" if plain.rate.runs >= ENOUGH_FOR_A_RATE and comes_and_goes else ""
    ended = "The plain run" if plain.rate.runs == 1 else f"All {plain.rate.runs:,} plain runs"
    stopped_early = f", and {plain.counts['timeout']:,} more did not end" if plain.counts["timeout"] else ""
    judged = state.asked.judges
    unjudged = "" if judged else f"; whether {'its' if plain.rate.runs == 1 else 'their'} output is right was not checked"
    passed = f"{ended} {'passed' if judged else 'exited with status 0'}{stopped_early}{unjudged}"
    if stopped == "no fault found":
        return f"{rate if plain.rate.failures else passed}. {clean(state)}"
    if stopped == "the failure did not reproduce":
        more = "" if plain.rate.failures else "; without a failure there is nothing to compare"
        return f"{rate}{fits}{more}."
    if stopped == "nothing to investigate":
        return f"{rate}, and no GPU API call was seen in them: no experiment changes anything that the program does."
    if state.symptom == "no failure" and state.failure is None and not _is_likely(state):
        return f"{passed}. {clean(state)}{_advice(stopped, plain)}"
    told = f"{rate}{fits}" if plain.rate.failures or not plain.rate.runs else f"{ended} exited 0{stopped_early}"
    return f"{told}. {_standings(state.table)}{_advice(stopped, plain)}"


def _how_often(state: Investigation, plain: Observed) -> str:
    runs = plural(plain.rate.runs, "plain run")
    if state.failure and state.failure.ending == HUNG:
        return f"{plain.rate.failures} of {runs} hung"
    return f"It failed in {plain.rate.failures} of {runs}"


def _standings(table: tuple[Row, ...]) -> str:
    """Who is left, in one sentence."""
    named = {word: [row.cause for row in table if row.status == word] for word in ("confirmed", "likely", "refuted")}
    parts = [f"{word}: {', '.join(causes)}" for word, causes in named.items() if causes]
    left = [row.cause for row in table if row.status == "inconclusive"]
    parts += [f"neither shown nor refuted: {', '.join(left)}"] if left else []
    return _sentence("; ".join(parts))


def _sentence(text: str) -> str:
    return f"{capital(text)}." if text else ""


def _advice(stopped: Stop, plain: Observed) -> str:
    if stopped in ("budget used up", "runs used up", "interrupted"):
        return " Continue with: gpudx investigate CASE."
    rare = stopped != "settled" and plain.rate.runs >= MOST_PLAIN
    return (
        " It is too rare for more runs to help; look for a smaller program that fails more often." if rare else ""
    )
