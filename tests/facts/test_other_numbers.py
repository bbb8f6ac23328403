"""Which other numbers of a process may have been meant."""

from __future__ import annotations

import struct
from pathlib import Path

from support.synthetic import GLOBAL, Arg, World

from gpudx.facts import derive
from gpudx.facts.other_numbers import ANY, DERIVED, MOST, NAMED, Candidate, OtherNumbers

ROWS = [Arg("float*", "data", GLOBAL), Arg("int", "width"), Arg("int", "pitch")]


def found(world: World, path: Path) -> list[Candidate]:
    return OtherNumbers(derive(world.write(path / "1-0.gdx"))).found


def launch(world: World, name: str, declared: list[Arg], *given: int | bytes) -> None:
    kernel = world.kernel(name, declared)
    for index, value in enumerate(given):
        size = len(value) if isinstance(value, bytes) else 8
        world.set_arg(kernel, index, int.from_bytes(value, "little") if isinstance(value, bytes) else value, size)
    world.launch(kernel, (64,))


def test_the_same_parameter_elsewhere_comes_first(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    launch(world, "blur", ROWS, world.buffer(4096), _int(30), _int(32))
    launch(world, "sharpen", ROWS, world.buffer(4096), _int(30), _int(30))
    first = found(world, tmp_path)[0]
    assert (first.passed.kernel, first.passed.name, first.value, first.rank) == ("blur", "pitch", 30, NAMED)
    second = found(world, tmp_path)[1]
    assert (second.passed.kernel, second.value) == ("sharpen", 32) and "`pitch` of kernel blur" in second.why


def test_a_quotient_of_two_arguments_is_rounded_the_other_way(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    declared = [Arg("int", "count"), Arg("int", "block"), Arg("int", "blocks")]
    launch(world, "mean", declared, _int(100), _int(16), _int(6))
    (best,) = [one for one in found(world, tmp_path) if one.passed.name == "blocks" and one.derived]
    assert (best.value, best.rank) == (7, DERIVED)
    assert "100 / 16 rounded up" in best.why and best.wish == "mean:2:6:7"


def test_an_even_quotient_has_no_other_way(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    declared = [Arg("int", "count"), Arg("int", "block"), Arg("int", "blocks")]
    launch(world, "mean", declared, _int(96), _int(16), _int(6))
    assert not [one for one in found(world, tmp_path) if one.derived and one.passed.name == "blocks"]


def test_the_bits_of_an_integer_in_a_float_are_the_integer(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    launch(world, "scale", [Arg("float*", "data", GLOBAL), Arg("float", "by")], world.buffer(64), _int(3))
    best = found(world, tmp_path)[0]
    assert best.value == 3.0 and best.bits == int.from_bytes(struct.pack("<f", 3.0), "little")


def test_what_changes_with_each_launch_and_what_no_type_holds_is_left_out(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    kernel = world.kernel("step", [Arg("uchar", "small"), Arg("int", "time")])
    for time in range(5):
        world.set_arg(kernel, 0, 200, 1)
        world.set_arg(kernel, 1, time + 1, 4)
        world.launch(kernel, (64,))
    several = found(world, tmp_path)
    assert several and len(several) <= MOST
    assert {one.passed.name for one in several} == {"small"}
    assert all(0 < one.value < 256 and one.value != 200 for one in several)
    assert all(one.rank <= ANY for one in several)


def _int(value: int) -> bytes:
    return struct.pack("<i", value)
