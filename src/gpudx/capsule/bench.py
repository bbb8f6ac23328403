"""Times of variants: taken in turns, compared in pairs, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
LOW, HIGH = 2.5, 97.5


@dataclass(frozen=True)
class Timed:
    """A variant: whether its results are right, and its times by round."""

    name: str
    verdict: str  # "equal", "within N ULP", "differs: ..." or why it did not run
    correct: bool
    times_ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        return float(np.median(self.times_ns)) if self.times_ns else float("nan")


def ratio(base: Timed, other: Timed) -> tuple[float, float, float] | None:
    """How long `other` takes relative to `base`: the median of the rounds' ratios, and its 95% interval (bootstrap)."""
    count = min(len(base.times_ns), len(other.times_ns))
    if not count or not min(base.times_ns[:count]):
        return None
    ratios = np.array(other.times_ns[:count], dtype=float) / np.array(base.times_ns[:count], dtype=float)
    picks = np.random.default_rng(0).integers(0, count, size=(RESAMPLES, count))
    medians = np.median(ratios[picks], axis=1)
    return float(np.median(ratios)), float(np.percentile(medians, LOW)), float(np.percentile(medians, HIGH))
