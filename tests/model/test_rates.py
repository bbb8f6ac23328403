"""Rates: intervals cover what they promise, comparisons and confirmations are wrong as rarely as they say.

Probabilities are summed exactly over all outcomes where that is possible; only optional stopping is simulated too.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.simulated import SLOW

from gpudx.model.rates import Interval, Rate, at_least, at_most, differs, runs_needed

RATES = [0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
LOOKS = 200 if SLOW else 60
counts = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def chance(k: int, n: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize(
    ("k", "n", "confidence", "low", "high"),
    [
        (0, 10, 0.95, 0.0, 1 - 0.025**0.1),
        (10, 10, 0.95, 0.025**0.1, 1.0),
        (5, 10, 0.95, 0.187086, 0.812914),
        (1, 20, 0.95, 0.001265, 0.248733),
        (1, 1, 0.99, 0.005, 1.0),
        (0, 0, 0.95, 0.0, 1.0),
    ],
)
def test_known_intervals(k: int, n: int, confidence: float, low: float, high: float) -> None:
    found = Rate(k, n).interval(confidence)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


@cache
def interval(k: int, n: int, confidence: float) -> Interval:
    return Rate(k, n).interval(confidence)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_intervals_cover(p: float, confidence: float) -> None:
    for n in (1, 2, 5, 17, 60):
        found = [interval(k, n, confidence) for k in range(n + 1)]
        covered = math.fsum(chance(k, n, p) for k, one in enumerate(found) if one.low <= p <= one.high)
        assert covered >= confidence - 1e-9


@pytest.mark.parametrize("p", RATES if SLOW else RATES[::3])
def test_the_interval_for_every_look_covers_at_all_looks_at_once(p: float) -> None:
    """Exact: the probability of never having left the interval in all runs, each of which was looked at."""
    inside = {0: 1.0}
    for n in range(1, LOOKS + 1):
        after: dict[int, float] = {}
        for k, weight in inside.items():
            after[k + 1] = after.get(k + 1, 0.0) + weight * p
            after[k] = after.get(k, 0.0) + weight * (1 - p)
        inside = {k: weight for k, weight in after.items() if weight > 1e-15 and covers(k, n, p)}
    assert sum(inside.values()) >= 0.99


def covers(k: int, n: int, p: float) -> bool:
    found = Rate(k, n).interval_always(0.99)
    return found.low <= p <= found.high


@settings(deadline=None)
@given(counts, st.sampled_from([0.8, 0.95, 0.99, 0.999]))
def test_an_interval_holds_the_share_and_is_mirrored(count: tuple[int, int], confidence: float) -> None:
    k, n = count
    for one, other in (
        (Rate(k, n).interval(confidence), Rate(n - k, n).interval(confidence)),
        (Rate(k, n).interval_always(confidence), Rate(n - k, n).interval_always(confidence)),
    ):
        assert 0 <= one.low <= (k / n if n else 0) <= one.high <= 1
        assert one.low == pytest.approx(1 - other.high, abs=1e-9)


@settings(deadline=None)
@given(counts)
def test_more_runs_say_more_and_every_look_costs(count: tuple[int, int]) -> None:
    k, n = count
    plain, always = Rate(k, n).interval(0.95), Rate(k, n).interval_always(0.95)
    more = Rate(4 * k, 4 * n).interval(0.95)
    assert more.high - more.low <= plain.high - plain.low + 1e-12
    assert always.low <= plain.low + 1e-12 and plain.high <= always.high + 1e-12


@settings(deadline=None)  # fractions of a thousand digits
@given(st.integers(1, 100), st.integers(0, 100), st.sampled_from(RATES))
def test_tails_are_those_of_the_sum(n: int, k: int, p: float) -> None:
    exact = Fraction(p)
    whole = sum(math.comb(n, j) * exact**j * (1 - exact) ** (n - j) for j in range(min(k, n + 1), n + 1))
    assert at_least(k, n, p) == pytest.approx(float(whole), rel=1e-9, abs=1e-290)
    assert at_least(k, n, p) + at_most(k - 1, n, p) == pytest.approx(1)


def test_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for k, n in ((0, 9), (3, 40), (77, 500), (1000, 1000)):
        theirs = stats.binomtest(k, n).proportion_ci(0.99, "exact")
        ours = Rate(k, n).interval(0.99)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_what_is_no_rate() -> None:
    for k, n in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="failures of"):
            Rate(k, n)


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ((7, 7), (0, 7), "lower"),
        ((0, 7), (7, 7), "higher"),
        ((3, 4), (1, 4), "unsettled"),  # Fisher's tea: 17 of 70 ways
        ((0, 100), (0, 100), "same"),
        ((500, 1000), (500, 1000), "same"),
        ((50, 100), (50, 100), "unsettled"),
        ((0, 0), (5, 5), "unsettled"),
    ],
)
def test_differences(a: tuple[int, int], b: tuple[int, int], says: str) -> None:
    assert differs(Rate(*a), Rate(*b)) == says


def test_fishers_tea() -> None:
    tea = Rate(3, 4), Rate(1, 4)
    assert differs(*tea, level=2 * 17 / 70 + 1e-9) == "lower"
    assert differs(*tea, level=2 * 17 / 70 - 1e-9) == "unsettled"


@settings(deadline=None)
@given(counts, counts)
def test_a_difference_has_two_sides(a: tuple[int, int], b: tuple[int, int]) -> None:
    turned = {"lower": "higher", "higher": "lower"}
    one, other = differs(Rate(*a), Rate(*b)), differs(Rate(*b), Rate(*a))
    assert one == turned.get(other, other)


@pytest.mark.parametrize("p", [0.01, 0.2, 0.5, 0.95] if SLOW else [0.01])
def test_equal_rates_are_seldom_told_apart_and_others_seldom_the_same(p: float) -> None:
    """Exact over all outcomes of 14 runs each; of 200 each, where "same" can be said, over the likely ones."""
    n, wrong = 14, 0.0
    for i in range(n + 1):
        for j in range(n + 1):
            if differs(Rate(i, n), Rate(j, n), 0.05) in ("lower", "higher"):
                wrong += chance(i, n, p) * chance(j, n, p)
    assert wrong <= 0.05
    n, apart, wrong = 200, p + 0.1 if p < 0.5 else p - 0.1, 0.0
    for i in likely(n, p):
        for j in (j for j in likely(n, apart) if abs(i - j) < n / 20):  # "same" is far from being said elsewhere
            wrong += chance(i, n, p) * chance(j, n, apart) * (differs(Rate(i, n), Rate(j, n), 0.05) == "same")
    assert wrong <= 0.05


def likely(n: int, p: float) -> list[int]:
    return [k for k in range(n + 1) if chance(k, n, p) > 2e-3]


def test_runs_needed() -> None:
    assert runs_needed(Interval(0.01, 0.5), 0.01) == 459  # 0.99 to the 459 is 0.0099
    assert runs_needed(Interval(1.0, 1.0)) == 1
    assert runs_needed(Rate(0, 50)) is None
    few, many = runs_needed(Rate(3, 10)), runs_needed(Rate(300, 1000))
    assert few is not None and many is not None and few > many > math.log(0.01) / math.log(0.7)


@cache
def passes(k: int, n: int, level: float) -> int | None:
    return runs_needed(Rate(k, n), level)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_passes_in_a_row_seldom_confirm_what_did_nothing(p: float, level: float) -> None:
    """Exact: n runs before, then as many passes as are needed although nothing was changed."""
    for n in (1, 3, 10, 50):
        needed = [passes(k, n, level) for k in range(n + 1)]
        wrong = math.fsum(chance(k, n, p) * (1 - p) ** m for k, m in enumerate(needed) if m is not None)
        assert wrong <= level
