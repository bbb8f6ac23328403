"""Host functions that share memory with copies of other streams: reported where nothing orders the two, and silent where anything does."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look

from gpudx.model import Finding

HERE = 0x5000_1000  # a function of the program


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


class Program:
    """One stream that prepares tokens in pinned memory, and one that copies them."""

    def __init__(self, world: CudaWorld) -> None:
        self.world = world
        self.tokens = world.create("cuMemHostAlloc", result=0x7FA0_0000_0000, size=4096, flags=0)
        self.device = world.alloc(4096)
        self.prepare, self.upload = (world.create("cuStreamCreate", flags=1) for _ in range(2))

    def function(self, data: int | None = None, queue: int | None = None) -> None:
        data = self.tokens if data is None else data
        self.world.call("cuLaunchHostFunc", queue=queue or self.prepare, function=HERE, user_data=data)

    def copy(self, queue: int | None = None) -> None:
        self.world.call("cuMemcpyHtoDAsync_v2", dst=self.device, src=self.tokens, size=4096, queue=queue or self.upload)


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == "host-function-unordered"]


@pytest.fixture
def program(cuda: CudaWorld) -> Program:
    return Program(cuda)


def test_a_copy_that_does_not_wait_for_the_function(program: Program, look: Look) -> None:
    program.function()
    program.copy()
    (one,) = of(look(program.world, "exit"))
    assert one.severity == "warning" and one.causes == ("unordered-access",)
    assert one.site is not None and one.site.call == "cuMemcpyHtoDAsync_v2" and one.others[0].call == "cuLaunchHostFunc"
    assert one.pair is not None and one.pair.edge == "cuLaunchHostFunc:1>cuMemcpyHtoDAsync_v2:1"


def test_a_function_that_does_not_wait_for_the_copy(program: Program, look: Look) -> None:
    program.copy()
    program.function(program.tokens + 64)
    (one,) = of(look(program.world, "exit"))
    assert one.pair is not None and one.pair.edge == "cuMemcpyHtoDAsync_v2:1>cuLaunchHostFunc:1"


def test_an_event_between_them_is_silent(program: Program, look: Look) -> None:
    world = program.world
    done = world.create("cuEventCreate", flags=2)
    program.function()
    world.call("cuEventRecord", event=done, queue=program.prepare)
    world.call("cuStreamWaitEvent", queue=program.upload, event=done, flags=0)
    program.copy()
    assert not of(look(world, "exit"))


def test_one_stream_is_silent(program: Program, look: Look) -> None:
    program.function()
    program.copy(program.prepare)
    assert not of(look(program.world, "exit"))


def test_a_wait_of_the_host_is_silent(program: Program, look: Look) -> None:
    program.function()
    program.world.call("cuStreamSynchronize", queue=program.prepare)
    program.copy()
    assert not of(look(program.world, "exit"))


def test_other_memory_and_numbers_are_silent(program: Program, look: Look) -> None:
    program.function(program.world.create("cuMemHostAlloc", result=0x7FB0_0000_0000, size=64, flags=0))
    program.function(0x5555_0000_1234)
    program.copy()
    assert not of(look(program.world, "exit"))
