"""Is a fix a fix? What the runs so far say. The words for it are in `sentences`.

A round is one run of each command, in an order drawn by lot. Of a round only the difference counts, so a machine that
drifts changes both sides alike. The tests are those of `gpudx.model.bets`: they may be looked at after every round.

    a fix            the program failed more often before than after, and more often reverted than after, both at the
                     confidence asked for; and it did not fail after, in any way
    mitigates        the old failure was seen after, and all failures together are rarer than before
    a placebo        the old failure was seen after, and that failures are rarer is not shown
    another failure  after, only other failures than before were seen: they may hide the old one
    not shown to be the cause   rarer after than before, but not seen again when reverted
    cannot be told   anything else, when runs or time are used up
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gpudx.model.bets import NOT_HALVED, RARER
from gpudx.model.rates import Rate
from gpudx.model.verification import Answer, Condition, Count, Question, Trial

Kind = Literal["passed", "old", "other", "unknown"]

ENOUGH_OTHERS = 3  # runs with another failure, or without a recorder, before one stops: fewer may be an accident


@dataclass(frozen=True)
class Failure:
    """The failure that is to be fixed, as the runs before the change show it."""

    names: frozenset[str]
    in_passes: frozenset[str]  # of these, the ones that tell it in a run that ended well too
    in_record: bool  # no run ended badly: the fault in the record is the failure
    by_fault: bool  # known by fingerprints, which only a recorder gives


def the_failure(before: Sequence[Trial]) -> Failure:
    """A fault that runs before the change have whether they fail or not tells nothing when it is seen after a pass."""
    failed = [t for t in before if t.failed]
    counted = failed or [t for t in before if t.faults]
    names = frozenset(t.names[0] for t in counted)
    harmless = {fault for t in before if failed and not t.failed for fault in t.faults}
    return Failure(names, names - harmless, bool(names) and not failed, any(t.faults for t in counted))


def kind(trial: Trial, failure: Failure) -> Kind:
    """What a run is counted as. A pass that nobody watched says nothing about a failure that only a recorder sees."""
    if not (failure.names if trial.failed else failure.in_passes).isdisjoint(trial.names):
        return "old"
    if trial.failed or (failure.in_record and trial.faults):
        return "other"
    return "unknown" if failure.by_fault and not trial.watched else "passed"


@dataclass(frozen=True)
class Tally:
    """The runs, counted."""

    question: Question
    trials: tuple[Trial, ...]

    @cached_property
    def failure(self) -> Failure:
        """What is to be fixed."""
        return the_failure([t for t in self.trials if t.condition == "before"])

    @cached_property
    def rounds(self) -> list[dict[str, Kind]]:
        """Those that are complete, in order."""
        found: dict[int, dict[str, Kind]] = {}
        for trial in self.trials:
            found.setdefault(trial.round, {})[trial.condition] = kind(trial, self.failure)
        return [found[n] for n in sorted(found) if found[n].keys() == self.question.commands.keys()]

    @cached_property
    def counted(self) -> list[dict[str, Kind]]:
        """Those in which every run says something."""
        return [one for one in self.rounds if "unknown" not in one.values()]

    def number(self, condition: Condition, *kinds: Kind) -> int:
        """How many runs of a condition are of these kinds."""
        return sum(one.get(condition) in kinds for one in self.rounds)

    def count(self, condition: Condition) -> Count:
        """How often a condition failed."""
        old, other = self.number(condition, "old"), self.number(condition, "other")
        runs = len(self.rounds) - self.number(condition, "unknown")
        return Count(condition, runs, old, other, Rate(old + other, runs).interval_always(self.question.confidence))

    def rarer(self, first: Condition, second: Condition, *kinds: Kind) -> bool:
        """Does the second fail less often than the first, of whose failures `kinds` count?"""
        gains = [(one[first] in kinds) - _failed(one[second]) for one in self.counted]
        return RARER.fortune(gains) * self.question.level >= 1

    def lead(self, condition: Condition) -> int:
        """Rounds that speak for the change: without it the old failure, with it none."""
        return sum(one[condition] == "old" and one["after"] == "passed" for one in self.counted)

    @property
    def wins(self) -> int:
        """The smaller lead, where the change is also reverted."""
        return min(self.lead(condition) for condition in self.question.commands if condition != "after")

    @property
    def wins_needed(self) -> int:
        """How large a lead must be when no round speaks against the change."""
        return RARER.rounds_needed(1, self.question.level)

    @property
    def not_halved(self) -> bool:
        """Does the old failure come more than half as often after the change as before?"""
        gains = [(one["after"] == "old") - _failed(one["before"]) / 2 for one in self.counted]
        return NOT_HALVED.fortune(gains) * self.question.level >= 1


def _failed(one: Kind) -> bool:
    return one in ("old", "other")


def answer(seen: Tally, last: bool) -> Answer | None:
    """What may be said now; None: go on. `last`: no more runs can be had."""
    after_old, after_other = seen.number("after", "old"), seen.number("after", "other")
    if after_old:
        return _still_there(seen, last)
    if seen.failure.names and (after_other >= ENOUGH_OTHERS or (after_other and last)):
        return "another failure"
    if not after_other and len(seen.rounds) >= seen.question.at_least and seen.rarer("before", "after", "old"):
        return _gone(seen, last)
    return "inconclusive" if last or _hopeless(seen) else None


def _still_there(seen: Tally, last: bool) -> Answer | None:
    if seen.rarer("before", "after", "old"):
        return "mitigates"
    return "a placebo" if last or seen.not_halved else None


def _gone(seen: Tally, last: bool) -> Answer | None:
    if "revert" not in seen.question.commands or seen.rarer("revert", "after", "old"):
        return "a fix"
    return "not shown to be the cause" if last or seen.rarer("before", "revert", "old", "other") else None


def _hopeless(seen: Tally) -> bool:
    """Passes after the change that nobody watched add up to nothing."""
    return max(seen.number(c, "unknown") for c in ("before", "after", "revert")) >= ENOUGH_OTHERS
