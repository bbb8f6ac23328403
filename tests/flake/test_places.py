"""Runs at the same time: the study wishes for several, and each number counts once. The suite is played, no process is started."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from flake_kit import World, play, rate, suite, told

from gpudx.flake.asking import Missing, Records
from gpudx.flake.ledger import Ledger
from gpudx.flake.loop import JOURNAL, Flaker, Limits, take_up
from gpudx.flake.study import Study, study
from gpudx.flake.suites import Asked, Lost
from gpudx.lab import trials
from gpudx.model.flake import Batch

RULES = {1: lambda now: 8 in now.before, 4: lambda now: True, 6: lambda now: bool(now.beside)}


@pytest.mark.parametrize("places", [1, 3, 16])
def test_the_verdicts_do_not_depend_on_the_places(places: int) -> None:
    world = World(12, dict(RULES), places=places)
    found = told(play(world))
    assert {name: test.kind for name, test in found.items()} == {
        "t1": "order-dependent",
        "t4": "deterministic",
        "t6": "concurrency-dependent",
    }
    numbers = [asked.number for asked in world.log]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_green_suite_takes_few_rounds() -> None:
    """30 runs in 30 places: the survey is sure, the rest of it is wanted as long as nothing fails."""
    calls: list[int] = []

    class Counting(World):
        def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
            calls.append(len(asked))
            return super().results(asked)

    assert not play(Counting(5, {}, places=30)).results
    assert sum(calls) == 30 and len(calls) == 2


def test_what_is_wanted_whatever_the_others_show() -> None:
    """The first wishes that are sure are the runs which one place makes one after another."""
    world = World(12, dict(RULES) | {9: rate(0.3)})
    flaker = Flaker(suite(12), world, None, Limits(1e9))
    flaker.run()
    made = [(asked.condition, asked.tests, asked.purpose) for asked in world.log]
    for done in range(0, len(made), 3):
        with pytest.raises(Missing) as missing:
            study(Records(suite(12), Ledger(12, flaker.batches[:done])), Study())
        sure = missing.value.wishes[: missing.value.sure]
        assert [(wish.condition, wish.tests, wish.purpose) for wish in sure] == made[done : done + len(sure)]


def test_runs_of_a_number_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal has runs as they ended. Read again they are in the order of their numbers, each once."""
    monkeypatch.setattr(trials, "identity", lambda words: "")
    world, journal = World(12, dict(RULES), places=5), tmp_path / JOURNAL
    flaker = Flaker(replace(suite(12), folder=str(tmp_path)), world, journal, Limits(1e9, 17))
    assert flaker.run().runs == 17
    lines = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [line["number"] for line in lines[:5]] == [5, 4, 3, 2, 1] and len(lines) == 17
    with journal.open("a") as file:
        file.write(json.dumps(lines[0] | {"marks": "F" * 12}) + "\n")
    monkeypatch.chdir(tmp_path)
    assert take_up(tmp_path)[1] == flaker.batches


def test_a_lost_run_stops_with_its_reason() -> None:
    """What was learned until then is told."""

    class Losing(World):
        def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
            yield from (self.run(one) for one in asked if one.number != 9)
            if any(one.number == 9 for one in asked):
                raise Lost("run 9 was lost")

    result = play(Losing(12, dict(RULES), places=2))
    assert result.stopped == "run 9 was lost" and result.runs == 9 and "t4" in told(result)
