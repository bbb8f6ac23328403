"""The study of planted failures, each with its verdict. The suite is played: no process is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from flake_kit import WAYS, World, play, rate, suite, told

from gpudx.flake.loop import Flaker, Limits
from gpudx.flake.minimise import smallest
from gpudx.model.flake import Accused, Look


def test_a_green_suite_is_quiet() -> None:
    result = play(World(20, {}))
    assert not result.results and result.stopped == "settled"
    assert "No test failed in 30 runs" in result.quiet and "may still be" in result.quiet


def test_what_always_fails_is_not_flaky() -> None:
    result = play(World(20, {3: lambda now: True}))
    assert told(result)["t3"].kind == "deterministic" and len(result.results) == 1
    assert "not flaky" in told(result)["t3"].summary


def test_what_its_own_record_shows_is_told() -> None:
    shown = Look(("k",), (), (Accused("null-pointer", "confirmed", "Argument 0 is null.", "k"),), 1, 5)
    found = told(play(World(5, {3: lambda now: True}, looks={3: shown})))["t3"]
    assert found.because == ("The record of its run alone shows null-pointer (confirmed): Argument 0 is null.",)


@pytest.mark.parametrize("poisoner", [0, 7, 18])
def test_the_test_that_poisons_is_found(poisoner: int) -> None:
    """The victim runs first in its own order, so only other orders show it."""
    victim = 1 if poisoner else 19
    result = play(World(20, {victim: lambda now: poisoner in now.before}))
    (found,) = result.results
    assert found.kind == "order-dependent"
    assert (found.name, found.partners) == (f"t{victim}", (f"t{poisoner}",)), found
    assert "it passes alone" in found.summary


def test_a_victim_that_needs_another_test() -> None:
    """It fails alone, and passes after the test that prepares something for it."""
    result = play(World(12, {6: lambda now: 2 not in now.before}))
    (found,) = result.results
    assert (found.kind, found.partners) == ("order-dependent", ("t2",))
    assert "passes only after t2" in found.summary


def test_two_poisoners_are_both_needed() -> None:
    result = play(World(12, {1: lambda now: {8, 5} <= set(now.before)}))
    assert set(told(result)["t1"].partners) == {"t5", "t8"}


def test_a_thousand_followers_are_one_cause() -> None:
    """A sticky fault: everything behind it in the same process fails."""
    rules = {t: (lambda now: 40 in now.failed) for t in range(1100) if t != 40} | {40: lambda now: True}
    world = World(1100, rules)
    result = play(world)
    kinds = {test.kind for test in result.results if test.name != "t40"}
    assert told(result)["t40"].kind == "deterministic" and result.results[0].name == "t40"
    assert result.followers == {"t40": 1099} and kinds == {"cascade"}
    assert len(world.log) < 60


def test_a_first_fault_that_is_itself_flaky() -> None:
    rules = {t: (lambda now: 4 in now.failed) for t in range(5, 40)} | {4: rate(0.5)}
    result = play(World(40, rules))
    assert result.followers == {"t4": 35} and told(result)["t4"].kind == "random"


def test_in_company_only() -> None:
    """Tests 2, 5 and 9 spoil each other at the same time."""
    shared = Look(
        ("k",), ("kernel k (kernel #1) by 2 threads",), (Accused("shared", "likely", "They share k.", "k"),), 2, 9
    )
    rules = {t: (lambda now: len({2, 5, 9} & set(now.beside)) > 1) for t in (2, 5, 9)}
    alone = {t: Look(("k",), calls=3) for t in (2, 5, 9)}
    result = play(World(12, rules, look=shared, looks=alone))
    assert {test.kind for test in result.results} == {"concurrency-dependent"} and len(result.results) == 3
    (blame,) = result.blames
    assert set(blame.explains) == {"t2", "t5", "t9"} and not blame.unexplained
    assert len(blame.pair) == 2 and set(blame.pair) <= {"t2", "t5", "t9"}


def test_from_how_many_at_a_time_on() -> None:
    """Numbers between one and all are tried where tests fail beside others, and shown; they decide nothing."""
    world = World(16, {5: lambda now: len(now.beside) >= 4})
    result = play(world, ways=(*WAYS, "threads-2", "threads-4"))
    shown = {cell.condition: (cell.failures, cell.runs) for cell in result.conditions}
    assert told(result)["t5"].kind == "concurrency-dependent"
    assert shown["threads-2"] == (0, 2) and shown["threads-4"] == (2, 2)
    names = [cell.condition for cell in result.conditions]
    assert names.index("threads-2") < names.index("threads-4") < names.index("parallel")


def test_no_number_is_tried_without_need() -> None:
    result = play(World(16, {5: rate(0.5)}), ways=(*WAYS, "threads-2"))
    assert "threads-2" not in [cell.condition for cell in result.conditions]


def test_the_cause_must_explain_every_test() -> None:
    """Test 9 never touches the kernel that is accused: it is listed apart, with a next step of its own."""
    shared = Look(
        ("k",), ("kernel k (kernel #1) by 2 threads",), (Accused("shared", "likely", "They share k.", "k"),), 2, 9
    )
    rules = {t: (lambda now: len({2, 5} & set(now.beside)) > 1) for t in (2, 5)}
    rules[9] = lambda now: len(now.beside) > 1
    alone = {2: Look(("k",), calls=3), 5: Look(("k",), calls=3), 9: Look((), calls=2)}
    result = play(World(12, rules, look=shared, looks=alone))
    (blame,) = result.blames
    assert set(blame.explains) == {"t2", "t5"} and blame.unexplained == ("t9",)
    assert told(result)["t9"].cause == "" and "gpudx investigate" in told(result)["t9"].next_step
    assert told(result)["t2"].cause == "shared" and not told(result)["t2"].next_step


def test_a_process_that_dies_blames_no_test() -> None:
    """Two tests together kill the process; who was running then is not called flaky."""
    result = play(World(10, {}, dies=lambda tests: {3, 8} <= set(tests)))
    (found,) = result.results
    assert found.name == "(the process)" and found.kind == "concurrency-dependent"
    assert set(found.partners) == {"t3", "t8"}


def test_under_load_only() -> None:
    result = play(World(10, {6: lambda now: now.busy}))
    assert told(result)["t6"].kind == "resource-dependent"


def test_load_is_not_taken_for_sharing() -> None:
    """It fails in parallel too, because that is load as well: a second process cannot share objects."""
    result = play(World(10, {6: lambda now: now.busy or bool(now.beside)}))
    assert told(result)["t6"].kind in ("resource-dependent", "concurrency-dependent")


def test_strangers_on_the_gpu() -> None:
    world = World(10, {6: lambda now: now.strangers}, strangers=lambda number: number % 2 == 1)
    found = told(play(world))["t6"]
    assert found.kind == "environment" and "python (1)" in found.summary


def test_truly_random() -> None:
    found = told(play(World(10, {6: rate(0.4)})))["t6"]
    assert found.kind == "random" and "fails alone" in found.summary


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A journal cut off after any run leads to the same end."""
    rules = {1: lambda now: 8 in now.before, 4: lambda now: True}
    whole = World(12, rules)
    flaker = Flaker(suite(12), whole, tmp_path / "whole", Limits(1e9))
    end = flaker.run()
    for cut in (1, 5, len(flaker.batches) - 1):
        again = Flaker(suite(12), World(12, rules), None, Limits(1e9), flaker.batches[:cut])
        assert [(t.name, t.kind, t.partners) for t in again.run().results] == [
            (t.name, t.kind, t.partners) for t in end.results
        ]
        assert len(again.batches) == len(flaker.batches)


def test_limits_are_kept() -> None:
    result = play(World(10, {6: rate(0.4)}), runs=5)
    assert result.stopped == "runs used up" and result.runs == 5
    assert told(result)["t6"].kind == "not settled" if result.results else result.quiet


@pytest.mark.parametrize("needed", [(3,), (0, 19), (4, 5, 6), (1, 9, 17)])
def test_delta_debugging_finds_the_smallest_part(needed: tuple[int, ...]) -> None:
    tried = []

    def does(some: tuple[int, ...]) -> bool:
        tried.append(some)
        return set(needed) <= set(some)

    assert smallest(range(20), does) == needed and len(tried) < 120
