"""A study asks for runs as if they were there already. What is missing is raised as wishes, run, and the study begins again.

So a study is a plain walk from question to question, it can be stopped and taken up at any point, and two studies of the same
journal come to the same end. Who can make several runs at a time takes as many wishes as it has places for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpudx.flake.ledger import Ledger
from gpudx.model.flake import Batch, Condition, Suite


@dataclass(frozen=True)
class Wish:
    """A run to be made."""

    condition: Condition
    tests: tuple[int, ...] = ()
    purpose: str = ""
    look: bool = False  # read the record, if it failed or this is a test alone
    phase: str = ""


class Missing(Exception):
    """Runs that the study needs and the journal has not.

    The first `sure` of them are wanted whatever the others show. The rest are wanted as it looks now: one of them may turn out not
    to have been needed, and counts like any other.
    """

    def __init__(self, wishes: Sequence[Wish], sure: int | None = None) -> None:
        super().__init__(wishes[0].phase)
        self.wishes = tuple(wishes)
        self.sure = len(wishes) if sure is None else sure


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
            raise Missing([Wish(condition, phase=phase)] * (times - done))

    def in_turns(self, conditions: Sequence[Condition], times: int, phase: str) -> None:
        """The whole suite so many times in each of these, in turns."""
        count = self.ledger.count
        turns = [way for number in range(times) for way in conditions if self.has(way) and count(way.name) <= number]
        if turns:
            raise Missing([Wish(way, phase=phase) for way in turns])

    def all_of(self, questions: Iterable[Callable[[], object]]) -> None:
        """Questions of which none decides whether another is asked: what any of them misses is wanted."""
        missing = [found for question in questions if (found := _missing(question))]
        sure = [wish for one in missing for wish in one.wishes[: one.sure]]
        likely = [wish for one in missing for wish in one.wishes[one.sure :]]
        if missing:
            raise Missing([*sure, *likely], len(sure))

    def ask(
        self, purpose: str, condition: Condition, tests: Sequence[int], times: int, look: bool = False, phase: str = ""
    ) -> list[Batch]:
        """Runs of some tests, made for one question."""
        done = self.ledger.asked.get(purpose, [])
        if len(done) < times:
            raise Missing([Wish(condition, tuple(tests), purpose, look, phase or purpose)] * (times - len(done)))
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
            raise Missing([Wish(condition, tuple(tests), purpose, True, phase)] * (times - len(done)), sure=1)
        return found


def _missing(question: Callable[[], object]) -> Missing | None:
    try:
        question()
    except Missing as missing:
        return missing
    return None
