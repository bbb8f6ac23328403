"""Red zones on the fake OpenCL library, whose only device is no CPU: there can be no pages around its buffers."""

from __future__ import annotations

import pytest
from fake_opencl import LARGEST
from native_kit import Kit

from gpudx.facts import derive

ZONE = 4096  # native/core/fence.h


@pytest.mark.parametrize("edge", ["high", "low", "red"])
def test_buffers_of_a_device_that_is_no_cpu(kit: Kit, edge: str) -> None:
    """The program sees what it would see; the largest buffers leave no room for a zone, which is counted."""
    program = kit.program("largest")
    plain = kit.run([program], "plain")
    ran = kit.run([program], "symbols", env={"GPUDX_FENCE": edge})
    assert ran.seen == plain.seen and plain.stdout.count(", made") == 5
    fences = derive(ran.trace()).fences
    assert [(b.size, b.edge, b.given_back) for b in fences.blocks] == [
        (n, "red", True) for n in (1, 4096, LARGEST - ZONE)
    ]
    assert fences.missed == {"no room for a red zone": 2}


@pytest.mark.parametrize("pattern", ["cb", "nan"])
def test_what_the_fake_fills_is_noted(kit: Kit, pattern: str) -> None:
    ran = kit.run([kit.program("largest")], "symbols", env={"GPUDX_POISON": pattern})
    assert ran.seen == kit.run([kit.program("largest")], "plain").seen
    assert derive(ran.trace()).poison.count == 5


@pytest.mark.parametrize("name", ["launches", "shared", "threads_fork", "refused", "early"])
def test_programs_run_as_before(kit: Kit, name: str) -> None:
    env = {"GPUDX_FENCE": "red", "GPUDX_POISON": "nan", "GPUDX_SERIALISE": "1"}
    plain, ran = kit.run([kit.program(name)], "plain"), kit.run([kit.program(name)], "symbols", env=env)
    assert ran.seen == plain.seen
