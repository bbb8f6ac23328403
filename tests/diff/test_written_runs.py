"""Runs written by hand: what two runs on real drivers do not show at will, such as addresses that were given out otherwise."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from support.cuda_world import CudaWorld

from gpudx.diff import Recording, compare
from gpudx.facts import derive
from gpudx.model import Case, Identity, LoadedObject, Outcome, ProcessInfo
from gpudx.model.comparison import Comparison, Difference
from gpudx.report import Page, terminal
from gpudx.report.diff import comparison

GEMM = "_Z4gemmPfPKfi"
TAKES_STRUCT = "_Z4packPf5thing"
Fill = Callable[[CudaWorld], None]


def case(outcome: str = "passed", *objects: LoadedObject, command: str = "app") -> Case:
    process = ProcessInfo(1, 0, command, "", 0, 0)
    who = Identity(objects=objects)
    return Case((command,), "", "", "", Outcome(outcome, ""), processes=(process,), identity=who)  # type: ignore[arg-type]


def compared(schema: str, folder: Path, good: Fill, bad: Fill, *, shift: int = 1 << 30) -> Comparison:
    """Both programs; in the second one every address is another."""
    sides = []
    for name, fill in (("good", good), ("bad", bad)):
        world = CudaWorld(schema)
        world._next += shift if name == "bad" else 0
        fill(world)
        sides.append(Recording(name, case(), [derive(world.write(folder / f"{name}.gdx"))]))
    return compare(*sides)


def loop(world: CudaWorld, *, sizes: tuple[int, ...] = (4096, 8192, 4096), without: int = -1, offset: int = 0) -> None:
    memory = [world.alloc(size) for size in sizes]
    kernel = world.kernel(GEMM, [8, 8, 4])
    for turn in range(30):
        if turn != without:
            given = [memory[turn % len(sizes)] + (offset if turn == 7 else 0), memory[0], turn // 10]
            world.launch(kernel, given)


def test_other_addresses_are_no_difference(schema: str, tmp_path: Path) -> None:
    made = compared(schema, tmp_path, loop, loop)
    assert made.same and made.first is None and made.launches == (30, 30)


def test_an_offset_in_the_same_memory(schema: str, tmp_path: Path) -> None:
    made = compared(schema, tmp_path, loop, lambda world: loop(world, offset=64))
    assert made.first is not None
    assert made.first.text == "launch #8 gemm: argument 0 memory #2 (8,192 bytes) -> memory #2 (8,192 bytes) + 64"
    assert made.counts["arguments"] == 1


def test_a_launch_missing_from_a_loop_is_one_difference(schema: str, tmp_path: Path) -> None:
    made = compared(schema, tmp_path, loop, lambda world: loop(world, without=7))
    assert made.first is not None and made.first.text == "launch #8: kernel gemm -> not there"
    assert made.counts["kernels"] == 1 and not made.counts["arguments"]


def test_memory_keeps_its_identity_when_its_size_changes_or_others_come(schema: str, tmp_path: Path) -> None:
    made = compared(schema, tmp_path, loop, lambda world: loop(world, sizes=(4096, 12288, 4096)))
    assert made.first is not None
    assert made.first.text == "allocation memory #2 (device): 8,192 bytes -> 12,288 bytes"
    assert made.counts["allocations"] == 1 and not made.counts["arguments"]

    def with_one_more(world: CudaWorld) -> None:
        world.alloc(100)
        loop(world)

    made = compared(schema, tmp_path, loop, with_one_more)
    assert made.first is not None and made.first.text == "allocation memory #1 (device): not there -> 100 bytes"
    assert sum(made.counts.values()) == 1


def structured(number: int, unused: int) -> Fill:
    """A structure with a pointer, a number, and a word that nobody wrote."""

    def fill(world: CudaWorld) -> None:
        memory, kernel = world.alloc(4096), world.kernel(TAKES_STRUCT, [8, 24])
        world.launch(kernel, [memory, struct.pack("<QQQ", memory + 128, number, unused)])

    return fill


def test_structures(schema: str, tmp_path: Path) -> None:
    made = compared(schema, tmp_path, structured(5, 0x7FFC12345678), structured(5, 0x7FFE00001111))
    assert made.same
    made = compared(schema, tmp_path, structured(5, 0), structured(6, 0))
    assert made.first is not None and made.first.where == "launch #1 pack: argument 1"
    assert made.first.now == "other content"


def test_a_failure_stands_where_it_happened(schema: str, tmp_path: Path) -> None:
    def failing(world: CudaWorld) -> None:
        loop(world)
        world.call("cuCtxSynchronize", status=700)

    made = compared(schema, tmp_path, loop, failing)
    assert made.first is not None and made.first.aspect == "errors" and "CUDA_ERROR_ILLEGAL_ADDRESS" in made.first.now


def test_objects_and_endings(schema: str, tmp_path: Path) -> None:
    world = CudaWorld(schema)
    loop(world)
    facts = [derive(world.write(tmp_path / "one.gdx"))]
    old, new = (
        LoadedObject("/lib/libgemm.so", (1,), build_id="aa"),
        LoadedObject("/opt/libgemm.so", (1,), build_id="bb"),
    )
    made = compare(Recording("g", case("passed", old), facts), Recording("b", case("timeout", new), facts))
    assert made.first is not None and made.first.text == "loaded object libgemm.so: build id aa -> build id bb"
    assert [one.text for one in made.shown][1:] == ["the program ended: passed -> timeout"]
    assert not made.same


def test_swapped_arguments_are_no_missing_launches(schema: str, tmp_path: Path) -> None:
    """A loop that begins with the other of two buffers looks as if it were one launch ahead."""

    def ping_pong(world: CudaWorld, turns: int, first: int) -> None:
        memory = [world.alloc(4096), world.alloc(8192)]
        kernel = world.kernel(GEMM, [8, 8, 4])
        for turn in range(turns):
            world.launch(kernel, [memory[(turn + first) % 2], memory[(turn + first + 1) % 2], 5])

    for turns in (5, 6):
        made = compared(schema, tmp_path, lambda w, n=turns: ping_pong(w, n, 0), lambda w, n=turns: ping_pong(w, n, 1))
        assert not made.counts["kernels"] and made.counts["arguments"] == turns


def test_a_launch_left_out_and_one_more_at_the_end_are_two_differences(schema: str, tmp_path: Path) -> None:
    def counted(world: CudaWorld, *numbers: int) -> None:
        memory, kernel = world.alloc(4096), world.kernel(GEMM, [8, 8, 4])
        for number in numbers:
            world.launch(kernel, [memory, memory, number])

    made = compared(schema, tmp_path, lambda w: counted(w, *range(20)), lambda w: counted(w, *range(5), *range(6, 21)))
    assert made.counts["kernels"] == 1 and not made.counts["arguments"]


def test_what_is_left_out_is_counted_in_launches() -> None:
    """Of a launch each argument is shown, and the launch is counted."""
    shown = tuple(
        Difference("arguments", f"launch #{n} add: argument {index}", "1", "2", good=n, bad=n) for n in (1, 2) for index in (0, 1)
    )
    made = Comparison("good", "bad", {"arguments": 5}, shown, shown[0], (9, 9))
    assert "... and 3 more launches." in terminal.show(comparison(made), Page(100))
