"""k failures of n runs, and what may be said from them. Exact: no normal approximation anywhere.

    interval          Clopper and Pearson, "The use of confidence or fiducial limits" (Biometrika 26, 1934): for a number of
                      runs that was fixed beforehand
    interval_always   Robbins, "Statistical methods related to the law of the iterated logarithm" (Ann. Math. Stat. 41,
                      1970): holds at every look at once, so it may be read after any run, and the runs stopped then
    differs           Fisher's exact test; "same" is a statement of its own, with a margin
    runs_needed       how many passes in a row mean something

Tests that may be looked at after every run are in `gpudx.model.bets`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

HALVINGS = 80  # of [0, 1]: more than the 53 bits of a float, so that small rates have all their digits too
MARGIN = 0.1  # two rates that are closer than this are "the same", unless the caller says otherwise

Difference = Literal["lower", "higher", "same", "unsettled"]


@dataclass(frozen=True)
class Interval:
    """Rates that are compatible with what was seen."""

    low: float
    high: float


@dataclass(frozen=True)
class Rate:
    """How often something failed."""

    failures: int
    runs: int

    def __post_init__(self) -> None:
        if not 0 <= self.failures <= self.runs:
            raise ValueError(f"{self.failures} failures of {self.runs} runs")

    def interval(self, confidence: float = 0.95) -> Interval:
        """Covers the true rate with at least this probability, whatever it is. The number of runs must have been fixed."""
        tail, k, n = (1 - confidence) / 2, self.failures, self.runs
        low = _root(lambda p: at_least(k, n, p) - tail) if k else 0.0
        high = _root(lambda p: tail - at_most(k, n, p)) if k < n else 1.0
        return Interval(low, high)

    def interval_always(self, confidence: float = 0.95) -> Interval:
        """Covers the true rate after every run at once with at least this probability: wider, free to stop at any time."""
        k, n, limit = self.failures, self.runs, -math.log(1 - confidence)
        mixture = _log_beta(k + 0.5, n - k + 0.5) - _log_beta(0.5, 0.5)

        def excess(p: float) -> float:
            return mixture - _log_power(p, k) - _log_power(1 - p, n - k) - limit

        share = k / n if n else 0.5
        low = _root(lambda p: -excess(p), 0.0, share) if k else 0.0
        return Interval(low, _root(excess, share, 1.0) if k < n else 1.0)


def differs(a: Rate, b: Rate, level: float = 0.01, margin: float = MARGIN) -> Difference:
    """How the rate of `b` stands against that of `a`, both for numbers of runs that were fixed beforehand.

    Where the rates are equal, "lower" or "higher" is said with a probability of `level` at most. "same" says that they
    are less than `margin` apart, and is said with a probability of `level` at most where they are not.
    """
    change = changed(a, b, level)
    if change != "unsettled":
        return change
    one, other = a.interval(1 - level / 2), b.interval(1 - level / 2)
    return "same" if max(one.high - other.low, other.high - one.low) < margin else "unsettled"


def changed(a: Rate, b: Rate, level: float = 0.01) -> Difference:
    """As `differs`, but never "same", which costs a hundred times as much to say."""
    if _fisher(a, b) <= level / 2:
        return "lower"
    return "higher" if _fisher(b, a) <= level / 2 else "unsettled"


def runs_needed(known: Rate | Interval, level: float = 0.01) -> int | None:
    """How many runs in a row must pass before "it no longer fails" may be said, wrong with a probability of `level` at most.

    Counted with the lower end of what is known of the failing rate: a failure that was seen 3 times in 10 may be one of
    1 in 20. Half of `level` is spent on that end, half on the passes. None: nothing is known, so nothing may be said.
    """
    if isinstance(known, Rate):
        known, level = known.interval(1 - level), level / 2
    if known.low <= 0:
        return None
    return 1 if known.low >= 1 else max(1, math.ceil(math.log(level) / math.log1p(-known.low)))


def _fisher(a: Rate, b: Rate) -> float:
    """The probability that `b` has so few of all failures, or fewer, when they fall on all runs alike."""
    total, runs = a.failures + b.failures, a.runs + b.runs
    first = max(0, total - a.runs)
    whole = _log_choose(runs, total)
    ways = (_log_choose(b.runs, k) + _log_choose(a.runs, total - k) for k in range(first, b.failures + 1))
    return min(1.0, math.fsum(math.exp(log - whole) for log in ways))


def at_least(k: int, n: int, p: float) -> float:
    """The probability of k or more failures in n runs (NIST DLMF 8.17.5)."""
    return 1.0 if k <= 0 else 0.0 if k > n else _beta(p, k, n - k + 1)


def at_most(k: int, n: int, p: float) -> float:
    """The probability of k or fewer: the same from the other side, so that no digits are lost."""
    return at_least(n - k, n, 1 - p)


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (NIST DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # there it converges slowly; DLMF 8.17.4 mirrors it
        return 1 - _beta(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b)) / a
    value = 1.0
    for m in range(30 + 4 * math.isqrt(math.ceil(a + b)), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        value = 1 + odd / (1 + even / value)
    return front / value


def _root(rising: Callable[[float], float], low: float = 0.0, high: float = 1.0) -> float:
    """Where a function that rises from below zero to above it passes zero."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_power(p: float, k: int) -> float:
    """The logarithm of p to the k; 0 to the 0 is 1."""
    return 0.0 if k == 0 else -math.inf if p <= 0 else k * math.log(p)
