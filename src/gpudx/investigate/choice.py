"""Which experiment next: the one that separates the standing causes best, per second that it will take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudx.investigate.observed import PLAIN, Observed, compared
from gpudx.investigate.prediction import MOST_RUNS, REPEATS, TWICE, compare, misses_needed, passes_needed
from gpudx.investigate.suspects import Suspect
from gpudx.lab.experiments import against
from gpudx.model import Expectation
from gpudx.model.rates import Rate

ENOUGH_FAILURES = 6  # of the plain runs; as many passes under a change then mean something
MOST_PLAIN = 40  # plain runs, however rare it is
QUIET = 30  # plain runs without a failure, before it is said not to come back
FLIPS = 8  # runs of a change that another experiment undoes
HARDLY = 0.1  # what a prediction that forbids nothing separates from one that does
PARTLY = 0.5
OPEN = ("may change", "may show")  # forbid nothing


@dataclass(frozen=True)
class Plan:
    """The experiment to run next, and how many runs it will have had when it is done."""

    experiment: str
    runs: int
    why: str = ""  # what it is run for


def plain_runs(plain: Observed) -> int:
    """How many plain runs it takes to know the rate; as many as there are when it is known."""
    rate = plain.rate
    if rate.failures == 0:
        return QUIET
    if rate.failures == rate.runs or rate.failures < ENOUGH_FAILURES:
        done = rate.failures >= ENOUGH_FAILURES
        return len(plain.trials) if done else min(MOST_PLAIN, max(ENOUGH_FAILURES, _likely_total(rate)))
    return len(plain.trials)


def _likely_total(rate: Rate) -> int:
    """Runs until there will be enough failures, as it looks now."""
    return rate.runs + round((ENOUGH_FAILURES - rate.failures) * rate.runs / rate.failures)


def runs_wanted(seen: Observed, base: Rate, level: float) -> int:
    """When an experiment is done: it failed often enough, or passed often enough, or keeps saying nothing."""
    rate = seen.rate
    failures = max(REPEATS, misses_needed(level))
    if seen.silent.total() >= max(TWICE, rate.runs + 1) or rate.failures >= failures:
        return len(seen.trials)
    passes = passes_needed(base, level)
    if rate.failures == 0:
        return min(MOST_RUNS, passes + seen.silent.total())
    if rate.runs >= 2 * passes:  # neither gone nor often: not settled by more of it
        return len(seen.trials)
    return len(seen.trials) + failures - rate.failures


def recheck(seen: Mapping[str, Observed], level: float) -> Plan | None:
    """Plain runs, or what else it is compared with, after an experiment in which the failure went away: was it the change,
    or the machine?"""
    for name, one in seen.items():
        other = compared(name, seen)
        gone = name != PLAIN and not one.rate.failures and compare(other.rate, one.rate, level) == "lower"
        after = other.after(one)
        patience = math.ceil(2 * TWICE * other.rate.runs / other.rate.failures) if gone else 0
        if gone and after.rate.failures < TWICE and len(after.trials) < patience:
            return Plan(other.experiment, len(other.trials) + TWICE - after.rate.failures)
    return None


def next_asked(asked: Sequence[str], seen: Mapping[str, Observed], level: float) -> Plan | None:
    """The first experiment that the user asked for and that is not done."""
    for name in asked:
        so_far = seen.get(name, Observed(name))
        wanted = runs_wanted(so_far, seen[PLAIN].rate, level)
        if wanted > len(so_far.trials):
            return Plan(name, wanted)
    return None


def next_experiment(
    standing: Sequence[Suspect],
    seen: Mapping[str, Observed],
    costs: Mapping[str, float],
    level: float,
    least: float = 0.0,
) -> Plan | None:
    """None when nothing that can be run separates the suspects that stand by more than `least`."""
    base = seen[PLAIN].rate
    plans = []
    for name, cost in costs.items():
        if against(name) != PLAIN:  # next_flip
            continue
        so_far = seen.get(name, Observed(name))
        wanted = runs_wanted(so_far, base, level)
        gain = separation([one.expects(name) for one in standing])
        if gain > least and wanted > len(so_far.trials):
            plans.append((gain / (cost * (wanted - len(so_far.trials))), name, wanted))
    if not plans:
        return None
    _, name, wanted = max(plans, key=lambda plan: (plan[0], plan[1]))
    return Plan(name, wanted)


def next_to_show(named: Sequence[Suspect], seen: Mapping[str, Observed], costs: Mapping[str, float]) -> Plan | None:
    """For a fault in the record that no plain run fails of: the cheapest instrument that may show it, until one did."""
    if any(seen[name].showed(one.shown_as) >= TWICE for one in named for name in seen if one.expects(name) == "shown"):
        return None
    for name in sorted(costs, key=lambda one: (costs[one], one)):
        may = any(one.expects(name) == "shown" for one in named)
        if may and len(seen.get(name, Observed(name)).trials) < REPEATS:
            return Plan(name, REPEATS)
    return None


def next_flip(seen: Mapping[str, Observed], costs: Mapping[str, float], level: float) -> Plan | None:
    """For experiments that undo what another one does: first the other, and where that changes the outcome, these."""
    for name in costs:
        other, so_far = compared(name, seen), seen.get(name, Observed(name))
        if other.experiment == PLAIN or other.experiment not in costs:
            continue
        if len(other.trials) < FLIPS and other.silent.total() < max(TWICE, other.rate.runs + 1):
            return Plan(other.experiment, FLIPS)
        wanted = runs_wanted(so_far, other.rate, level) if other.rate.failures >= TWICE else 0
        if len(so_far.trials) < wanted <= MOST_PLAIN:
            return Plan(name, wanted)
    return None


def can_flip(costs: Mapping[str, float]) -> bool:
    return any(against(name) != PLAIN for name in costs)


def separation(expected: Sequence[Expectation]) -> float:
    """How far apart the predictions of all pairs are, and each from "stays": what nobody thought of predicts that."""
    pairs = sum(_apart(a, b) for i, a in enumerate(expected) for b in expected[i + 1 :])
    return pairs + sum(_apart("stays", one) for one in expected if one != "may change")


def _apart(a: Expectation, b: Expectation) -> float:
    if a == b:
        return 0.0
    if a in OPEN or b in OPEN:
        return HARDLY
    return PARTLY if {"rarer", "more often"} & {a, b} else 1.0
