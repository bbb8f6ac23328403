"""A float that is passed for a double, in launches that are given pointers to their arguments."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look

from gpudx.detectors._two_floats import looks_so
from gpudx.model import Finding

DECAY = "_Z5decayPdid"  # decay(double *, int, double)


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def types(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == "argument-type"]


def launched(world: CudaWorld, *values: bytes) -> None:
    memory, kernel = world.alloc(4096), world.kernel(DECAY, [8, 4, 8])
    for value in values:
        world.launch(kernel, [memory, 64, value])
    world.sync()


def double(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize("behind", [struct.pack("<f", 1.0), bytes(4), struct.pack("<i", 64)])
def test_a_float_and_what_lies_behind_it(cuda: CudaWorld, look: Look, behind: bytes) -> None:
    launched(cuda, struct.pack("<f", 0.5) + behind)
    (one,) = types(look(cuda, "exit"))
    assert one.severity == "error" and one.site is not None
    assert (one.site.kernel, one.site.launch, one.site.argument) == ("decay", 1, 2)
    assert "its first 4 bytes are 0.5" in one.message


def test_it_is_not_reported_of_a_run_that_passed(cuda: CudaWorld, look: Look) -> None:
    launched(cuda, struct.pack("<ff", 0.5, 1.0))
    assert not types(look(cuda))


def test_one_launch_with_an_ordinary_double_speaks_against_it(cuda: CudaWorld, look: Look) -> None:
    launched(cuda, struct.pack("<ff", 0.5, 1.0), double(0.1))
    assert not types(look(cuda, "exit"))


DOUBLES = [0.0, 0.5, 2.0, 0.1, 1e-3, 1 / 3, 3e8, 6.02214076e23, float(np.float32(0.1)), 1e10, 123456789.0, -1.0, 1e-300]


@pytest.mark.parametrize("value", DOUBLES)
def test_doubles_are_silent(cuda: CudaWorld, look: Look, value: float) -> None:
    launched(cuda, double(value))
    assert not types(look(cuda, "exit"))


def test_doubles_that_programs_compute_do_not_look_so() -> None:
    rolled = random.Random(7)
    values: list[float] = [float(np.float32(rolled.uniform(-1e4, 1e4))) * rolled.randrange(1, 1000) for _ in range(50_000)]
    values += [rolled.uniform(-1e6, 1e6) for _ in range(50_000)]
    values += [rolled.randrange(1 << 50) / (1 << rolled.randrange(30)) for _ in range(50_000)]
    values += [round(rolled.uniform(0, 1e4), 3) for _ in range(50_000)]
    assert looks_so(np.array(values).view(np.uint64)).sum() <= 4
