"""Parts of buffers that may be memory of their own, and those that may not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from support.synthetic import GLOBAL, Arg, World

from gpudx.facts import derive
from gpudx.facts.parts import can_be_apart


class Arena:
    """A buffer, and a kernel that is given parts of it."""

    def __init__(self, world: World, **more: int) -> None:
        self.world = world
        self.buffer = world.buffer(4096, **more)
        self.kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL)])

    def part(self, offset: int, size: int) -> None:
        region = struct.pack("<2Q", offset, size)
        part = self.world.create("clCreateSubBuffer", buffer=self.buffer, arrays={"create_info": region})
        self.use(part)

    def use(self, buffer: int) -> None:
        self.world.set_arg(self.kernel, 0, buffer)
        self.world.launch(self.kernel, (64,))


def apart(schema: str, path: Path, use: Callable[[Arena], None], **more: int) -> bool:
    arena = Arena(World(schema), **more)
    arena.part(0, 1024)
    arena.part(1024, 1024)
    use(arena)
    return can_be_apart(derive(arena.world.write(path / "1-0.gdx")))


def test_parts_that_do_not_overlap(schema: str, tmp_path: Path) -> None:
    assert apart(schema, tmp_path, lambda arena: None)


@pytest.mark.parametrize(
    "use",
    [lambda arena: arena.part(512, 1024), lambda arena: arena.use(arena.buffer)],
    ids=["they overlap", "the buffer itself is used"],
)
def test_parts_that_share_what_is_used(schema: str, tmp_path: Path, use: Callable[[Arena], None]) -> None:
    assert not apart(schema, tmp_path, use)


def test_a_buffer_with_content(schema: str, tmp_path: Path) -> None:
    assert not apart(schema, tmp_path, lambda arena: None, host_ptr=0x5000)


def test_a_program_without_parts(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    world.buffer(64)
    assert not can_be_apart(derive(world.write(tmp_path / "1-0.gdx")))
