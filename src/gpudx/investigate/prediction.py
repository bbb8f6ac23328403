"""What an observation says about a prediction: for it, against it, or nothing, at a stated level.

    stays        against it: fewer failures than without the change. For it: the failure came again, as often as can be told
    gone         for it: no failure, in enough runs to mean it, and afterwards plain runs fail again: else the machine may have
                 changed, and not the program. Against it: the failure came REPEATS times
    may go       for it: as "gone". Against it: nothing, since the same fault elsewhere would keep it
    rarer, more often   for or against it: the rates differ
    shown        for it: the instrument named the fault. Against it: the failure came, everything was watched, and the instrument
                 named nothing, in so many runs that one which names it in SHOWN_AT_LEAST of them would have
    may show     for it: as "shown", by what the device itself reported. Against it: nothing, since a device need not notice
    may change   nothing, whatever happens

One run is never compared with one run: nothing counts before it was seen TWICE.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache

from gpudx.investigate.observed import Observed
from gpudx.investigate.suspects import Suspect
from gpudx.model import Cell
from gpudx.model.investigation import Weight
from gpudx.model.rates import Difference, Rate, changed

TWICE = 2
GOES = ("gone", "may go")
SHOWS = ("shown", "may show")
REPEATS = 3  # of the failure, before it is said to stay
SHOWN_AT_LEAST = (
    0.9  # of the failing runs: what an instrument that watches everything must show of a fault it is made for
)
MOST_RUNS = 400  # of one experiment; a rarer failure is not settled by running

STAYS = "it still fails"
REPORTED = "the tool reported it"
UNMOVED = "it still fails, and no byte that is read back depends on the content of fresh memory"

compare = cache(changed)


def weigh(suspect: Suspect, seen: Observed, other: Observed, level: float) -> Cell:
    """One place of the table: an experiment against the one that it is compared with."""
    expects, base = suspect.expects(seen.experiment), other.rate
    change = compare(base, seen.rate, level) if seen.rate.runs >= TWICE and base.runs >= TWICE else "unsettled"
    if expects in SHOWS:
        weight, why = _shown(suspect, seen, level) if expects == "shown" else _may_show(suspect, seen, level)
    elif expects == "may change":
        weight, why = "nothing", "it predicts nothing here"
    else:
        weight, why = _rated(expects, seen.rate, change)
    if expects in GOES and weight == "for" and other.after(seen).rate.failures < TWICE:
        weight, why = "nothing", f"{other.name} runs have not failed again since"
    return Cell(seen.experiment, expects, seen.text, weight, why)


def _rated(expects: str, rate: Rate, change: Difference) -> tuple[Weight, str]:
    often = rate.failures >= TWICE
    if expects == "stays":
        if change == "lower":
            return "against", "it fails less often than without the change"
        return ("for", STAYS) if often else ("nothing", "too few runs")
    if expects in GOES:
        if rate.failures >= REPEATS:
            return "nothing" if expects == "may go" else "against", STAYS
        return ("for", "it no longer fails") if change == "lower" and not rate.failures else ("nothing", "too few runs")
    wanted, forbidden = ("lower", "higher") if expects == "rarer" else ("higher", "lower")
    if change == wanted:
        return "for", f"its rate is {change}"
    return (
        ("against", f"its rate is {change}") if change == forbidden else ("nothing", "the rates do not differ measurably")
    )


def _shown(suspect: Suspect, seen: Observed, level: float) -> tuple[Weight, str]:
    shown = seen.showed(suspect.shown_as)
    if shown:
        return ("for", REPORTED) if shown >= TWICE else ("nothing", "reported once; once is not enough")
    if seen.unshown(suspect.shown_as) >= misses_needed(level):
        return "against", UNMOVED if seen.unmoved else "it still fails, and the tool reported nothing"
    blind = next((trial.blind for trial in seen.trials if trial.blind), "")
    if blind and seen.rate.failures >= TWICE and len({trial.given for trial in seen.trials}) > 1:
        blind = f"{blind}, and what came back was not the same in all runs"
    return "nothing", blind or "too few failing runs under the tool"


def _may_show(suspect: Suspect, seen: Observed, level: float) -> tuple[Weight, str]:
    weight, why = _shown(suspect, seen, level)
    if weight == "for" and not suspect.certain:
        return "nothing", "which launch the device reported is not certain"
    return ("nothing", "the device need not notice it") if weight == "against" else (weight, why)


def misses_needed(level: float) -> int:
    """So many failing runs in which it shows nothing, before an instrument is believed."""
    return max(TWICE, math.ceil(math.log(level) / math.log(1 - SHOWN_AT_LEAST)))


@cache
def passes_needed(base: Rate, level: float) -> int:
    """So many passes, without a failure, before it may be called gone."""
    return bisect_left(range(MOST_RUNS), True, TWICE, key=lambda runs: changed(base, Rate(0, runs), level) == "lower")
