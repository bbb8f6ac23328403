"""A lab that plays a suite: every test fails by a rule, with a fixed seed, and nothing is started."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpudx.flake.loop import Flaker, Limits
from gpudx.flake.suites import Asked
from gpudx.model.flake import (
    ALONE,
    BUSY,
    EVERY,
    MANY,
    PLAIN,
    REVERSED,
    SHUFFLED,
    SWEEP,
    Batch,
    Flake,
    FlakyTest,
    Look,
    Suite,
)


@dataclass(frozen=True)
class Moment:
    """What a rule may look at: who ran before in this process, who failed before, who runs at the same time."""

    before: tuple[int, ...]
    failed: tuple[int, ...]
    beside: tuple[int, ...]
    busy: bool
    strangers: bool
    chance: random.Random


Rule = Callable[[Moment], bool]


def rate(p: float) -> Rate:
    return lambda now: now.chance.random() < p


Rate = Rule


@dataclass
class World:
    """The lab. `rules` by test; other tests pass."""

    tests: int
    rules: dict[int, Rule]
    seed: int = 1
    looks: dict[int, Look] = field(default_factory=dict)  # of a test alone
    look: Look | None = None  # of a failing run of several
    dies: Callable[[tuple[int, ...]], bool] = lambda tests: False
    strangers: Callable[[int], bool] = lambda number: False
    log: list[Asked] = field(default_factory=list)
    places: int = 1

    def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
        """Those of several places come in another order than they were asked for, and one of them twice."""
        ended = [self.run(one) for one in asked]
        return iter([*reversed(ended), *ended[:1]])

    def run(self, asked: Asked) -> Batch:
        self.log.append(asked)
        chance = random.Random(f"{self.seed} {asked.number}")
        order = list(asked.tests or range(self.tests))
        if asked.condition == REVERSED:
            order.reverse()
        if asked.condition == SHUFFLED:
            chance.shuffle(order)
        parallel, most = asked.condition.threads not in (None, 1), asked.condition.threads or len(order)
        failed: list[int] = []
        busy, strange = asked.condition.busy, self.strangers(asked.number)
        for place, test in enumerate(order):
            rule, first = self.rules.get(test), place // most * most
            beside = tuple(order[first : first + most]) if parallel else ()
            before = () if parallel else tuple(order[:place])
            if rule and rule(Moment(before, () if parallel else tuple(failed), beside, busy, strange, chance)):
                failed.append(test)
        bad = set(failed)
        died = parallel and self.dies(tuple(order))
        looked = (
            self.looks.get(order[0], Look(calls=1)) if asked.condition == ALONE else self.look if bad or died else None
        )
        return Batch(
            condition=asked.condition.name,
            marks="?" * len(order) if died else "".join("F" if t in bad else "." for t in order),
            tests=() if order == list(range(self.tests)) else tuple(order),
            purpose=asked.purpose,
            ending="exit:1" if bad else "passed",
            seconds=0.1,
            number=asked.number,
            strangers=("python (1)",) if strange else (),
            look=looked if asked.look else None,
            died=died,
        )

    def chosen(self, tests: Sequence[int], parallel: bool) -> list[str]:
        return ["run", *map(str, tests)]


SWEPT = tuple(way.name for way in SWEEP)
WAYS = tuple(name for name in EVERY if name not in ("one-thread", "serialised", "perturbed", *SWEPT))


def suite(tests: int, ways: Sequence[str] = WAYS, **more: object) -> Suite:
    names = tuple(f"t{number}" for number in range(tests))
    return Suite(("run",), "command", names, tuple(ways), **more)  # type: ignore[arg-type]


def play(world: World, runs: int = 1000, journal: Path | None = None, **more: object) -> Flake:
    return Flaker(suite(world.tests, **more), world, journal, Limits(1e9, runs)).run()  # type: ignore[arg-type]


def told(flake: Flake) -> dict[str, FlakyTest]:
    return {test.name: test for test in flake.results}


__all__ = ["BUSY", "MANY", "PLAIN", "Moment", "World", "play", "rate", "suite", "told"]
