"""What the record says of tests, with CUDA processes that were written by hand: no GPU and no driver is here."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.pytest_plugin import _sentence, _where
from gpudx.pytest_plugin.live import Told, look

SCALE = "_Z5scalePfi"


class Marked(CudaWorld):
    """A world whose calls lie in tests."""

    def begin(self, name: str) -> None:
        self.note("note_mark", {"begins": 1}, name)

    def end(self, name: str) -> None:
        self.note("note_mark", {"begins": 0}, name)

    def told(self, folder: Path, failed: bool = True) -> list[Told]:
        self.write(folder / "100-0.gdx")
        return look(folder, failed)[0]


@pytest.fixture
def world(schema: str) -> Marked:
    return Marked(schema)


def test_freed_memory_is_pinned_to_the_launch_and_not_to_the_report(world: Marked, tmp_path: Path) -> None:
    memory, kernel = world.alloc(4096), world.kernel(SCALE, [8, 4])
    world.begin("a")
    world.free(memory)
    world.launch(kernel, [memory, 4])
    world.end("a")
    world.begin("b")
    world.sync(status=700)
    world.end("b")
    first = world.told(tmp_path)[0]
    assert (first.verdict, first.made_in, first.surfaced_in, first.certain) == (
        "LIKELY use-after-free",
        ("a",),
        "b",
        True,
    )
    assert _where(first) == "a (noticed in b)"
    assert _sentence(first, "b").endswith(
        "caused in a, not in this test; it is not shown that this test failed because of it."
    )
    assert _sentence(first, "a").endswith("This test caused it.")
    assert look(tmp_path, True, 7) == ([], [])


def test_an_interval_names_all_tests_in_it(world: Marked, tmp_path: Path) -> None:
    memory, kernel, other = world.alloc(4096), world.kernel(SCALE, [8, 4]), world.kernel("_Z4ropePfi", [8, 4])
    for name, one in (("before", kernel), ("a", kernel), ("b", other), ("quiet", None), ("c", kernel)):
        world.begin(name)
        if one:
            world.launch(one, [memory, 1024])
        if name == "before":
            world.sync()
        world.end(name)
    world.begin("d")
    world.sync(status=700)
    world.end("d")
    (only,) = world.told(tmp_path)
    assert (only.made_in, only.surfaced_in, only.certain) == (("a", "b", "c"), "d", False)
    assert _where(only) == "perhaps a or b or c (noticed in d)"


def test_nothing_is_told_of_a_test_that_failed_by_itself(world: Marked, tmp_path: Path) -> None:
    memory, kernel = world.alloc(4096), world.kernel(SCALE, [8, 4])
    world.begin("a")
    world.launch(kernel, [memory, 1024])
    world.sync()
    world.end("a")
    assert world.told(tmp_path) == [] == world.told(tmp_path, failed=False)


def test_many_tests_are_not_all_named() -> None:
    many = Told("V", "S.", tuple(f"t{i}" for i in range(9)), "", False, "x")
    assert _where(many) == "perhaps t0 or t1 or t2 or t3 or t4 or one of 4 more"
    assert _where(Told("V", "S.", (), "", True, "x")) == "outside the tests"
