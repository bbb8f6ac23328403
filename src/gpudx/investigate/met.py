"""Failures that come only in some runs, because only in some runs two unordered operations meet.

A program that draws its sizes or its branches at random uses the two queues at once now and then. Of all runs few fail, and to see that a
change makes the failure go away takes hundreds. Of the runs in whose record the two meet most fail, and a dozen decide: so only these are
compared, with the change and without it. What a run meets is decided before the change can matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpudx.investigate.observed import PLAIN, Observed, observed
from gpudx.investigate.prediction import passes_needed
from gpudx.lab.experiments import base
from gpudx.model import Diagnosis, Evidence, Trial
from gpudx.text import plural

EDGE = "edge"
ENOUGH = 3  # failures without the change, and passes with it, at least
UNSEEN = 12  # runs with the change in which they do not meet: then the mark is one of the failure itself
SOME = 0.1  # what is likely only
# Instruments that neither order anything nor change what memory holds: the failure comes under them as it does without.
LOOKING = ("checked", "checked-numbers", "host-heap", "host-memory")


@dataclass(frozen=True)
class Met:
    """The runs in which the two operations met: with the change, and without it. `marks`: what shows that they did."""

    edge: Observed
    without: Observed
    marks: frozenset[str]

    def is_enough(self, level: float) -> bool:
        """Is it less likely than `level` that all runs without the change fail and all with it pass, if it changes nothing?"""
        failed, passed = self.without.rate.failures, self.edge.rate.runs
        if not passed or self.edge.rate.failures or failed < min(passed, ENOUGH):
            return False
        if failed < self.without.rate.runs:
            return passed >= passes_needed(self.without.rate, level)
        both = failed + passed
        return (failed / both) ** failed * (passed / both) ** passed < level


def of_pair(name: str, seen: Mapping[str, Observed]) -> Met | None:
    """None where the failure is not of such runs alone, or nothing shows which runs these are."""
    if base(name) != EDGE:
        return None
    marks, tried = _marks(seen), seen.get(name, Observed(name))
    if not marks:
        return None
    trials = sorted(
        ((place, trial) for one in seen.values() for place, trial in zip(one.places, one.trials, strict=True) if _counts(one, name)),
        key=lambda placed: placed[0],
    )
    chosen = [_as_plain(trial) for _, trial in trials if marks <= set(trial.fingerprints)]
    met = observed(chosen)
    edge = met.get(name, Observed(name))
    if not edge.trials and len(tried.trials) >= UNSEEN:
        return None
    missed = [trial for trial in tried.trials if trial not in edge.trials and trial.outcome not in ("passed", "not reached")]
    return None if missed else Met(edge, met[PLAIN], marks)


def likely(entry: Diagnosis, seen: Mapping[str, Observed]) -> Diagnosis:
    """The entry of an order finding that no rate has decided in the time, where runs in which its operations meet speak for it."""
    for name in seen if entry.status == "inconclusive" else ():
        where = of_pair(name, seen)
        if where and where.marks & set(entry.findings) and where.is_enough(SOME):
            return replace(entry, status="likely", reason=in_words(where), evidence=(Evidence(apart(where, seen[PLAIN])), *entry.evidence))
    return entry


def in_words(where: Met) -> str:
    return f"{_failed(where)}; with the two ordered, {where.edge.rate.runs} of {where.edge.rate.runs} such runs passed."


def apart(where: Met, plain: Observed) -> str:
    """The runs in which they met, and the others."""
    others = [trial for trial in plain.trials if not where.marks <= set(trial.fingerprints)]
    return f"{_failed(where)}, and none of the {plural(len(others), 'plain run')} in which they did not meet"


def _failed(where: Met) -> str:
    rate = where.without.rate
    return f"{rate.failures} of {plural(rate.runs, 'run')} in which the two operations met unordered failed"


def _counts(one: Observed, name: str) -> bool:
    return one.experiment in (PLAIN, name, *LOOKING)


def _as_plain(trial: Trial) -> Trial:
    return replace(trial, experiment=PLAIN) if trial.experiment in LOOKING else trial


def _marks(seen: Mapping[str, Observed]) -> frozenset[str]:
    """Findings of every plain run that failed, and of none that passed; runs that passed must be there."""
    plain = seen[PLAIN].trials
    failed = [frozenset(trial.fingerprints) for trial in plain if trial.outcome == "reproduced"]
    passed = [frozenset(trial.fingerprints) for trial in plain if trial.outcome == "passed"]
    if not failed or not passed:
        return frozenset()
    return frozenset.intersection(*failed).difference(*passed)
