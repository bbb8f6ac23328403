"""A buffer that a pool hands out again is too small for another reason than its allocation."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.synthetic import GLOBAL, PRIVATE, Arg, World

from gpudx.diagnose.reused_buffers import told
from gpudx.facts import derive
from gpudx.model import Evidence, Finding

MESSAGE = "Kernel distances (launch 2) wrote past the end of argument 1 `d` (buffer #1, 2,048 bytes, allocated at a.c:71): `d[i]`."


def rounds(world: World, first: tuple[int, int], second: tuple[int, int], numbers: tuple[int, int]) -> None:
    """Two launches of a kernel with the buffers and the number of each."""
    args = [Arg("float2*", "p", GLOBAL), Arg("float*", "d", GLOBAL), Arg("int", "n", PRIVATE)]
    kernel = world.kernel("distances", args)
    for given, number in ((first, numbers[0]), (second, numbers[1])):
        world.set_arg(kernel, 0, given[0])
        world.set_arg(kernel, 1, given[1])
        world.set_arg(kernel, 2, number, 4)
        world.launch(kernel, (number, number))


def seen(world: World, folder: Path) -> Finding:
    facts = derive(world.write(folder / "1-0.gdx"))
    site = facts.sites.at(int(facts.launches.position[1]), argument=1)
    finding = Finding("kernel-check", "error", MESSAGE, (Evidence("seen"),), site=site, causes=("undersized-buffer",))
    return told([finding], [facts])[0]


def test_a_buffer_that_was_made_for_another_argument(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    points, large, more = world.buffer(2048), world.buffer(262144), world.buffer(4096)
    rounds(world, (points, large), (more, points), (256, 512))
    found = seen(world, tmp_path)
    assert "allocated at a.c:71 for another use)" in found.message
    assert found.evidence[0].text == "the buffer was made for another use: launch 1 was passed it as argument 0 `p`"
    assert found.evidence[1].text == "the largest buffer that was created before launch 2 has 262,144 bytes"
    assert found.root is not None and found.root.call == "clSetKernelArg" and found.root.argument == 1
    assert found.steps[0].startswith("Check the size for which the buffer of `d` is chosen, before clSetKernelArg (call")


@pytest.mark.parametrize("case", ["turns", "same", "fresh"])
def test_other_buffers_are_too_small_by_their_allocation(schema: str, tmp_path: Path, case: str) -> None:
    """Two buffers that take turns, one that had this place before, and one that no launch had."""
    world = World(schema)
    small, large, more = world.buffer(2048), world.buffer(262144), world.buffer(4096)
    second = {"turns": (large, small), "same": (more, small), "fresh": (large, more)}[case]
    first = {"turns": (small, large), "same": (large, small), "fresh": (small, large)}[case]
    rounds(world, first, second, (256, 256 if case == "turns" else 512))
    found = seen(world, tmp_path)
    assert found.message == MESSAGE and not found.steps and found.root is None
