"""Two runs of real programs on a real driver (PoCL): no difference where there is none, and the planted one where there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_kit import Record, diff, gpudx


@pytest.mark.parametrize("turn", range(2))
def test_threads_that_mix_differently_are_the_same(record: Record, turn: int) -> None:
    status, made = diff(record("good"), record(f"good-{turn}"))
    assert (status, made["first"]) == (0, None), made
    assert made["launches"][0] == made["launches"][1] == 2 * (4 * 12 + 6)


@pytest.mark.parametrize("turn", range(1))
def test_a_pool_that_takes_work_as_it_comes_is_the_same(record: Record, turn: int) -> None:
    status, made = diff(record("pool", POOL="1"), record(f"pool-{turn}", POOL="1"))
    assert (status, made["first"]) == (0, None), made


PLANTED = {
    "argument": ("arguments", "argument 2 n", "64", "48"),
    "pointer": ("arguments", "argument 0 in", "(12,288 bytes)", ""),
    "geometry": ("geometry", "copy: geometry", "64 in groups", "128 in groups"),
    "kernel": ("kernels", "launch #", "kernel copy", "kernel scale"),
    "missing": ("kernels", "launch #", "kernel copy", "not there"),
    "allocation": ("allocations", "allocation buffer #", "12,288 bytes", "12,544 bytes"),
    "error": ("errors", "clSetKernelArg", "no such failure", "CL_INVALID_ARG_INDEX"),
}


@pytest.mark.parametrize("plant", PLANTED)
def test_the_planted_change_is_named_first(record: Record, plant: str) -> None:
    status, made = diff(record("good"), record(plant, PLANT=plant))
    aspect, where, was, now = PLANTED[plant]
    first = made["first"]
    assert status == 1 and first["aspect"] == aspect, made
    assert where in first["where"] and was in first["was"] and now in first["now"], first
    assert {name for name, count in made["counts"].items() if count} == {aspect}, made["counts"]
    assert made["counts"][aspect] == 1


def test_in_a_pool_a_changed_number_is_still_named(record: Record) -> None:
    status, made = diff(record("pool", POOL="1"), record("pool-argument", POOL="1", PLANT="argument"))
    assert status == 1 and made["first"]["aspect"] == "arguments" and made["first"]["now"] == "48"
    assert made["counts"]["arguments"] == 3 and not made["counts"]["kernels"]


def test_in_a_pool_a_changed_size_is_still_named(record: Record) -> None:
    status, made = diff(record("pool"), record("pool-allocation", POOL="1", PLANT="allocation"))
    assert status == 1 and made["first"]["aspect"] == "allocations" and made["first"]["now"] == "12,544 bytes"
    assert made["counts"]["allocations"] == 3


def test_command_and_environment(record: Record) -> None:
    _, made = diff(record("five", "--rows", "5"), record("six", "--rows", "6"))
    assert made["first"]["where"] == "word 2 of the command:" and made["first"]["now"] == "6"
    _, made = diff(record("good"), record("loud", POCL_MAX_PTHREAD_COUNT="1"))
    assert made["first"]["aspect"] == "environment"
    assert made["first"]["where"] == "variable POCL_MAX_PTHREAD_COUNT:" and made["first"]["was"] == "not there"
    status, made = diff(record("good"), record("loud", POCL_MAX_PTHREAD_COUNT="1"), "--ignore", "environment")
    assert status == 0 and "environment" not in made["counts"], made


def test_what_people_read(record: Record, tmp_path: Path) -> None:
    good, bad = record("good"), record("argument", PLANT="argument")
    shown = gpudx("diff", good, bad)
    assert shown.returncode == 1 and shown.stdout.startswith("gpudx: DIFFERENT\n  first difference: launch #")
    assert "copy: argument 2 n 64 -> 48" in shown.stdout and "launches with other arguments" in shown.stdout
    marked = gpudx("diff", good, bad, "--format", "markdown")
    assert marked.returncode == 1 and "| launches with other arguments | 1 |" in marked.stdout
    (tmp_path / "empty").mkdir()
    none = gpudx("diff", good, tmp_path / "empty")
    assert none.returncode == 2 and "There is no case" in none.stderr
