"""Looking after every round and stopping when one likes it: still wrong as rarely as promised."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simulated import times

from gpudx.model.bets import NOT_HALVED, RARER, Game

LEVEL = 0.01
RATES = [0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
ROUNDS = 200
MANY = times(1000)


def ever(game: Game, moves: list[tuple[float, float]], rounds: int) -> float:
    """Exact: the probability that the fortune reaches 1/LEVEL in `rounds` rounds. `moves` are (probability, gain).

    Fortunes depend only on how often each gain came.
    """
    still, reached = {(0,) * len(moves): 1.0}, 0.0
    for _ in range(rounds):
        after: dict[tuple[int, ...], float] = {}
        for counts, weight in still.items():
            for index, (probability, _) in enumerate(moves):
                key = (*counts[:index], counts[index] + 1, *counts[index + 1 :])
                after[key] = after.get(key, 0.0) + weight * probability
        still = {}
        for counts, weight in after.items():
            if held(game, moves, counts) >= 1 / LEVEL:
                reached += weight
            elif weight > 1e-12:
                still[counts] = weight
    return reached


def held(game: Game, moves: list[tuple[float, float]], counts: tuple[int, ...]) -> float:
    total = 0.0
    for part, stake in game.stakes:
        for (_, gain), count in zip(moves, counts, strict=True):
            part *= (1 + stake * gain) ** count
        total += part
    return total


def test_what_differs_in_nothing_is_seldom_found_rarer() -> None:
    """Only rounds in which one of the two fails move the fortune, and these are fair coins whatever the rate is."""
    assert ever(RARER, [(0.5, 1.0), (0.5, -1.0)], ROUNDS) <= LEVEL
    assert ever(RARER, [(0.4, 1.0), (0.6, -1.0)], ROUNDS) <= LEVEL


@pytest.mark.parametrize("p", [0.05, 0.2, 0.5, 0.9, 1.0])
def test_what_is_halved_is_seldom_found_not_halved(p: float) -> None:
    q = p / 2
    moves = [(p * q, 0.5), (p * (1 - q), -0.5), (q * (1 - p), 1.0)]
    assert ever(NOT_HALVED, [*moves, (1 - sum(w for w, _ in moves), 0.0)], 25) <= LEVEL


@pytest.mark.parametrize("p", RATES)
def test_stopping_when_one_likes_it(p: float) -> None:
    """Simulated with a fixed seed: many changes that do nothing, each looked at after every one of 200 rounds."""
    dice = random.Random(p)
    found = sum(RARER.fortune(difference(dice, lambda turn: p)) >= 1 / LEVEL for _ in range(MANY))
    assert found <= MANY * LEVEL + 3 * (MANY * LEVEL) ** 0.5


def test_a_machine_that_drifts_does_not_decide() -> None:
    """The failure goes away by itself half way: both sides of a round lose it at once."""
    dice = random.Random(7)
    drift: Callable[[int], float] = lambda turn: 0.9 if turn < 30 else 0.02  # noqa: E731
    found = sum(RARER.fortune(difference(dice, drift)) >= 1 / LEVEL for _ in range(MANY))
    assert found <= MANY * LEVEL + 3 * (MANY * LEVEL) ** 0.5


def difference(dice: random.Random, rate: Callable[[int], float]) -> list[float]:
    return [float((dice.random() < rate(turn)) - (dice.random() < rate(turn))) for turn in range(200)]


def test_what_helps_is_found() -> None:
    assert RARER.fortune([1.0] * 7) >= 100 > RARER.fortune([1.0] * 6)
    assert RARER.rounds_needed(1, 0.01) == 7
    assert RARER.fortune([1.0, 1.0, -1.0] * 50) >= 100  # half as often
    assert NOT_HALVED.fortune([0.5] * 9) >= 100  # both always


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), max_size=60), st.lists(st.sampled_from([-1.0, 1.0]), max_size=20))
def test_a_fortune_once_made_counts(gains: list[float], more: list[float]) -> None:
    assert RARER.fortune(gains + more) >= RARER.fortune(gains) >= 1


@pytest.mark.parametrize(("game", "loss"), [(RARER, 1.0), (NOT_HALVED, 0.5)])
def test_nobody_bets_more_than_he_has(game: Game, loss: float) -> None:
    assert sum(part for part, _ in game.stakes) == pytest.approx(1)
    assert all(0 < stake * loss <= 1 for _, stake in game.stakes)


def test_a_fortune_stays_a_number() -> None:
    assert RARER.fortune([1.0] * 5000 + [-1.0]) < float("inf")
