"""False "deterministic" and false "flaky" stay within the stated confidence; large suites are analysed in well under a second."""

from __future__ import annotations

import math
import random
import time

import pytest
from flake_kit import Moment, Rule, World, play, rate, suite, told

from gpudx.flake.asking import Missing, Records
from gpudx.flake.ledger import Ledger
from gpudx.flake.study import Study, study
from gpudx.model.flake import Batch

TESTS, ALWAYS, FLAKY = 1000, 50, 250


def planted(seed: int) -> tuple[dict[int, Rule], dict[int, float]]:
    """Some tests always fail; the rates of flaky ones are spread evenly over 0.1% to 50% on a logarithmic scale."""
    chance = random.Random(seed)
    chosen = chance.sample(range(TESTS), ALWAYS + FLAKY)
    rates = {t: math.exp(chance.uniform(math.log(0.001), math.log(0.5))) for t in chosen[ALWAYS:]}
    rules: dict[int, Rule] = {t: (lambda now: True) for t in chosen[:ALWAYS]}
    return rules | {t: rate(p) for t, p in rates.items()}, rates


@pytest.mark.parametrize("seed", range(10))
def test_planted_rates(seed: int) -> None:
    """Per suite of 1,000: 50 always fail, 250 are flaky. No condition matters, so nothing else may be said of them."""
    rules, rates = planted(seed)
    result = play(World(TESTS, rules, seed=seed), runs=60)
    kinds = {int(test.name[1:]): test.kind for test in told(result).values()}
    always = [t for t in rules if t not in rates]
    false_flaky = [t for t in always if t in kinds and kinds[t] != "deterministic"]
    false_deterministic = [t for t in rates if kinds.get(t) == "deterministic"]
    wrong = [
        t
        for t in rates
        if kinds.get(t, "") in ("order-dependent", "concurrency-dependent", "resource-dependent", "cascade")
    ]
    assert not false_flaky
    assert len(false_deterministic) <= 0.01 * FLAKY
    assert len(wrong) <= 0.01 * FLAKY, [(t, rates[t], kinds[t]) for t in wrong]


def test_rare_failures_are_not_called_causes() -> None:
    """At 95% too, over many suites of one flaky test: a wrong kind in at most 5% of them."""
    wrong = 0
    for seed in range(60):
        result = play(World(6, {2: rate(0.3)}, seed=seed), confidence=0.95, runs=120)
        wrong += any(test.kind not in ("random", "not settled") for test in result.results)
    assert wrong <= 0.05 * 60 + 2


def test_ten_thousand_tests_a_round() -> None:
    """The analysis between two runs, with 40 runs of 10,000 tests of which 1,500 have failed."""
    tests, chance = 10_000, random.Random(1)
    bad = {t: chance.uniform(0.01, 0.6) for t in range(0, tests, 7)}
    ledger = Ledger(tests)
    names = ["as-is", "parallel", "shuffled", "reversed", "busy"]
    for number in range(40):
        marks = "".join("F" if t in bad and chance.random() < bad[t] else "." for t in range(tests))
        ledger.add(Batch(names[number % 5], marks, seconds=1.0))
    began = time.process_time()
    with pytest.raises(Missing):
        study(Records(suite(tests), ledger), Study())
    assert time.process_time() - began < 0.8


def test_the_moment_is_what_rules_see() -> None:
    seen: list[Moment] = []
    play(World(3, {1: lambda now: seen.append(now) is not None}), runs=3)
    assert seen[0].before == (0,) and not seen[0].busy
