"""Tests that may be looked at after every run: people stop when they like what they see.

Somebody who does not believe in a difference offers a fair game on each round of runs. A player with one coin bets on
the difference. If there is none, the player's fortune cannot be expected to grow, and it ever reaches 1/level with a
probability of `level` at most, however many rounds are played and whenever one stops (Ville, "Etude critique de la notion
de collectif", 1939). So a fortune of 100 is a test at 1 %, after every round at once. Betting on bounded differences:
Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (J. R. Stat. Soc. B 86, 2024).

The coin is split over several stakes, each kept for the whole game, because the size of the difference is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

RICHEST = 1e300  # a fortune stays a number


@dataclass(frozen=True)
class Game:
    """A null hypothesis: that the mean gain of a round is not above zero. `stakes` are (part of the coin, stake).

    No stake may lose more than it has: stake times the largest loss of a round is 1 at most.
    """

    stakes: tuple[tuple[float, float], ...]

    def fortune(self, gains: Iterable[float]) -> float:
        """The largest fortune that the player has had: at least 1/level means that the null is rejected at that level."""
        held, best = [part for part, _ in self.stakes], 1.0
        for gain in gains:
            held = [min(h * (1 + stake * gain), RICHEST) for h, (_, stake) in zip(held, self.stakes, strict=True)]
            best = max(best, sum(held))
        return best

    def rounds_needed(self, gain: float, level: float) -> int:
        """How many rounds with this gain, and none with a loss, reject the null."""
        held, rounds = [part for part, _ in self.stakes], 0
        while sum(held) < 1 / level:
            held = [h * (1 + stake * gain) for h, (_, stake) in zip(held, self.stakes, strict=True)]
            rounds += 1
        return rounds


# One fails more often than the other. A round gains 1 when only the first fails, -1 when only the second does. Most of the
# coin is put on "the second never fails": it doubles with each gain, seven of which suffice for 99 %, and is lost at once
# when the second does fail; the rest is for what is only rarer.
RARER = Game(((0.8, 1.0), (0.1, 0.7), (0.1, 0.3)))

# The second fails more than half as often as the first: 1 for a failure of the second, -1/2 for one of the first.
NOT_HALVED = Game(((0.25, 0.3), (0.25, 0.8), (0.25, 1.5), (0.25, 2.0)))
