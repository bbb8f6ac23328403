"""A study asks for runs as if they were there already. What is missing is raised as a wish, run, and the study begins again.

So a study is a plain walk from question to question, it can be stopped and taken up at any point, and two studies of the same
journal come to the same end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpudx.diagnose.flaky.ledger import Ledger
from gpudx.model.flake import Batch, Condition, Suite


@dataclass(frozen=True)
class Wish:
    """A run to be made. `left` is how many more like it the question will take, as it looks now."""

    condition: Condition
    tests: tuple[int, ...] = ()
    purpose: str = ""
    look: bool = False  # read the record, if it failed or this is a test alone
    phase: str = ""
    left: int = 1


class Missing(Exception):
    """A run that the study needs and the journal has not."""

    def __init__(self, wish: Wish) -> None:
        super().__init__(wish.phase)
        self.wish = wish


@dataclass(frozen=True)
class Records:
    """The journal as a study sees it."""

    suite: Suite
    ledger: Ledger

    @property
    def level(self) -> float:
        return 1 - self.suite.confidence

    def has(self, condition: Condition) -> bool:
        """Can tests be run in this way?"""
        return condition.name in self.suite.conditions

    def whole(self, condition: Condition, times: int, phase: str) -> None:
        """The whole suite, at least so many times."""
        done = self.ledger.count(condition.name)
        if self.has(condition) and done < times:
            raise Missing(Wish(condition, phase=phase, left=times - done))

    def ask(
        self, purpose: str, condition: Condition, tests: Sequence[int], times: int, look: bool = False, phase: str = ""
    ) -> list[Batch]:
        """Runs of some tests, made for one question."""
        done = self.ledger.asked.get(purpose, [])
        if len(done) < times:
            raise Missing(Wish(condition, tuple(tests), purpose, look, phase or purpose, times - len(done)))
        return done[:times]

    def until(
        self,
        purpose: str,
        condition: Condition,
        tests: Sequence[int],
        times: int,
        good: Callable[[Batch], bool],
        phase: str,
    ) -> Batch | None:
        """Runs until one is good, at most so many."""
        done = self.ledger.asked.get(purpose, [])
        found = next((batch for batch in done[:times] if good(batch)), None)
        if found is None and len(done) < times:
            raise Missing(Wish(condition, tuple(tests), purpose, True, phase, times - len(done)))
        return found
