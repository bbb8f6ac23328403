"""What checks inside kernels report of a buffer that had been released is no fault of the kernel's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.synthetic import GLOBAL, Arg, World

from gpudx.diagnose.kernel_check_runs import _is_of_released_buffer
from gpudx.facts import derive


@pytest.mark.parametrize(("released", "again"), [(True, False), (False, False), (True, True)])
def test_only_a_buffer_that_is_gone(schema: str, tmp_path: Path, released: bool, again: bool) -> None:
    world = World(schema)
    kernel, buffer = world.kernel("scale", [Arg("float*", "data", GLOBAL)]), world.buffer(64)
    if released:
        world.release(buffer)
    if again:  # another buffer got the same handle
        world.create("clCreateBuffer", result=buffer, context=world.context, size=128)
    world.set_arg(kernel, 0, buffer)
    position = world.launch(kernel, (64,))
    facts = derive(world.write(tmp_path / "1-0.gdx"))
    failure = SimpleNamespace(
        facts=facts, position=position, kind="bounds", thing=SimpleNamespace(kind="argument", index=0)
    )
    assert _is_of_released_buffer(failure) == (released and not again)  # type: ignore[arg-type]
