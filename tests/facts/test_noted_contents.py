"""Words of copies that the recorder kept: which call they belong to, and whether a NaN came to the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.synthetic import World

from gpudx.facts import derive
from gpudx.facts.contents import contents, nan_read_back

NAN = np.array([1, 2, np.nan, 4], np.float32)
ODD = np.array([1, 2, 3, 0x7FC00001], np.uint32)  # no NaN that a device computes


@pytest.mark.parametrize(("call", "data", "found"), [("Read", NAN, True), ("Write", NAN, False), ("Read", ODD, False)])
def test_a_nan_that_is_read_back(schema: str, tmp_path: Path, call: str, data: np.ndarray, found: bool) -> None:
    world = World(schema)
    buffer = world.buffer(16)
    at = world.call(f"clEnqueue{call}Buffer", begin=50_000, queue=world.queue, buffer=buffer, blocking=1, size=16, ptr=0x5000)
    world.note("note_contents", {"began": 50_000, "size": 16}, numbers=data.view(np.uint64).tolist())
    facts = derive(world.write(tmp_path / "one.gdx"))
    assert [(position, words.tolist()) for position, words in contents(facts)] == [(at, data.view(np.uint64).tolist())]
    assert nan_read_back(facts) == (at if found else None)
