"""Trials counted by experiment: how often the failure came, and how often the run said nothing of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from gpudx.lab.experiments import against
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Observation, Trial
from gpudx.model.rates import Interval, Rate
from gpudx.text import plural

PLAIN = "recorded"  # the experiment that all others are compared with
SAYS = ("reproduced", "passed")  # outcomes that count for the rate
INTERVAL = 0.95


HUNG = "timeout"  # the ending of a run that was stopped
SOONER = 2  # times as fast as a run was stopped: one that ends so soon is no proof that the other was only slow


@dataclass(frozen=True)
class Observed:
    """What one experiment showed."""

    experiment: str
    trials: tuple[Trial, ...] = ()
    places: tuple[int, ...] = ()  # of these among all runs

    @property
    def name(self) -> str:
        """Of its runs, for people."""
        return "plain" if self.experiment == PLAIN else self.experiment

    @cached_property
    def rate(self) -> Rate:
        """Runs that ended as the failure does, of those and the passes. Others can be neither."""
        return Rate(self.counts["reproduced"], self.counts["reproduced"] + self.counts["passed"])

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(trial.outcome for trial in self.trials)

    @cached_property
    def silent(self) -> Counter[str]:
        """Runs that say nothing of the rate, by what they were."""
        return Counter({name: count for name, count in self.counts.items() if name not in SAYS})

    def after(self, other: Observed) -> Observed:
        """The runs that were made after the last one of another experiment."""
        last = other.places[-1] if other.places else -1
        late = [(place, trial) for place, trial in zip(self.places, self.trials, strict=True) if place > last]
        return Observed(self.experiment, tuple(trial for _, trial in late), tuple(place for place, _ in late))

    def showed(self, causes: Iterable[str]) -> int:
        """In how many runs the instrument named one of these causes."""
        wanted = set(causes)
        return sum(bool(wanted & set(trial.shown)) for trial in self.trials)

    def unshown(self, causes: Iterable[str]) -> int:
        """In how many runs it failed the same way, all was watched, and the instrument named none of these causes."""
        wanted, seeing = set(causes), [t for t in self.trials if self.unmoved or not t.blind]
        return sum(t.outcome == "reproduced" and not wanted & set(t.shown) for t in seeing)

    @cached_property
    def unmoved(self) -> bool:
        """Fresh memory held unlike things, and all that the program was given, printed and returned was the same."""
        given = {(t.fingerprints, t.given) for t in self.trials}
        return self.looks_alike and len(given) == 1 and all(t.given for t in self.trials)

    @cached_property
    def looks_alike(self) -> bool:
        """Fresh memory held unlike things, and the program printed and returned the same."""
        alike = {(t.outcome, t.ending, t.output) for t in self.trials}
        return all(t.output for t in self.trials) and len(alike) == 1 and {t.fresh for t in self.trials} >= set(UNLIKE)

    @property
    def is_blind(self) -> bool:
        """It was run, and could not have shown anything in any run."""
        return bool(self.trials) and all(trial.blind for trial in self.trials) and not self.unmoved

    @cached_property
    def text(self) -> str:
        """ "3 of 3 failed", with what else happened."""
        rate = f"{self.rate.failures} of {self.rate.runs} failed" if self.rate.runs else ""
        rest = [f"{count} {name}" for name, count in self.silent.items()]
        return ", ".join(filter(None, [rate, *rest])) or "not run"

    @property
    def failed(self) -> str:
        """ "3 of 5 runs failed"."""
        return f"{self.rate.failures:,} of {plural(self.rate.runs, 'run')} failed"

    @property
    def range(self) -> str:
        """The rates that fit, for people."""
        if not self.rate.runs:
            return ""
        fits = interval(self.rate)
        return f"{fits.low:.0%} to {fits.high:.0%}"


@cache
def interval(rate: Rate) -> Interval:
    """The rates that fit, whenever one looks: when to stop depends on what was seen."""
    return rate.interval_always(INTERVAL)


def observed(trials: Sequence[Trial]) -> dict[str, Observed]:
    """By experiment, in the order in which they were first run; the plain runs are always there."""
    groups: dict[str, list[int]] = {PLAIN: []}
    for place, trial in enumerate(trials):
        groups.setdefault(trial.experiment, []).append(place)
    return {name: Observed(name, tuple(trials[at] for at in places), tuple(places)) for name, places in groups.items()}


def hangs_sometimes(trials: Sequence[Trial]) -> bool:
    """Did a plain run hang, and another run end by itself long before that one was stopped?"""
    hung = [trial.seconds for trial in trials if trial.experiment == PLAIN and trial.ending == HUNG]
    ended = [t.seconds for t in trials if t.ending != HUNG and t.outcome not in ("not reached", "tool missing") and not t.shown]
    return bool(hung and ended) and SOONER * min(ended) < max(hung)


def compared(name: str, seen: Mapping[str, Observed]) -> Observed:
    """What an experiment's rate is compared with: the plain runs, mostly."""
    return seen.get(against(name), Observed(against(name)))


def observation(one: Observed) -> Observation:
    """The same for the case."""
    fits = interval(one.rate)
    first = next((name for name in (*SAYS, *one.silent) if one.counts[name]), "not reached")
    notes = dict.fromkeys(trial.note for trial in one.trials if trial.note and trial.outcome not in SAYS)
    return Observation(
        experiment=one.experiment,
        outcome=first,  # type: ignore[arg-type]
        reproduced=one.rate.failures,
        runs=one.rate.runs,
        note="; ".join(notes),
        low=fits.low,
        high=fits.high,
        others=tuple(one.silent.items()),
        shown=tuple(dict.fromkeys(cause for trial in one.trials for cause in trial.shown)),
        fingerprints=tuple(
            dict.fromkeys(f for trial in one.trials if trial.outcome != "passed" for f in trial.fingerprints)
        ),
    )
