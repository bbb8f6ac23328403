"""What a run was given by its devices has a digest only where nothing can have come unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.synthetic import World

from gpudx.diagnose.readback import digest, unseen
from gpudx.facts import Facts, derive

HOST, SIZE = 0x5000, 4096


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def facts(cuda: CudaWorld, path: Path) -> list[Facts]:
    return [derive(cuda.write(path / "1-0.gdx"))]


def read_back(cuda: CudaWorld, value: int = 7) -> None:
    memory = cuda.alloc(SIZE)
    cuda.call("cuMemcpyDtoH_v2", dst=HOST, src=memory, size=SIZE)
    cuda.note("note_read_back", {"object": memory, "bytes": SIZE, "digest": value})


def test_every_copy_was_looked_at(schema: str, tmp_path: Path) -> None:
    told = []
    for value in (7, 7, 8):
        cuda = CudaWorld(schema)
        read_back(cuda, value)
        assert not unseen(facts(cuda, tmp_path))
        told.append(digest(facts(cuda, tmp_path)))
    assert told[0] and told[0] == told[1] != told[2]


def test_a_copy_that_nobody_looked_at(cuda: CudaWorld, tmp_path: Path) -> None:
    read_back(cuda)
    cuda.call("cuMemcpyDtoHAsync_v2", dst=HOST, src=cuda.alloc(SIZE), size=SIZE, queue=cuda.queue)
    assert "not every copy" in unseen(facts(cuda, tmp_path)) and not digest(facts(cuda, tmp_path))


def test_memory_that_both_sides_see(cuda: CudaWorld, tmp_path: Path) -> None:
    read_back(cuda)
    cuda.create("cuMemAllocManaged", result=0x7E0000000000, size=SIZE)
    assert "without copying it" in unseen(facts(cuda, tmp_path))


def test_a_fault_of_the_device(cuda: CudaWorld, tmp_path: Path) -> None:
    read_back(cuda)
    cuda.sync(status=700)
    assert "the device itself faulted" in unseen(facts(cuda, tmp_path))


def test_memory_without_a_pattern(cuda: CudaWorld, tmp_path: Path) -> None:
    read_back(cuda)
    cuda.note("note_not_poisoned", {"object": cuda.alloc(SIZE), "size": SIZE}, "no time")
    assert "no pattern" in unseen(facts(cuda, tmp_path))


@pytest.mark.parametrize(("flags", "both"), [(1 << 5, False), (1 << 3, True)])
def test_memory_that_was_copied_from_the_host_once(schema: str, tmp_path: Path, flags: int, both: bool) -> None:
    """CL_MEM_COPY_HOST_PTR is no memory that both sides see; CL_MEM_USE_HOST_PTR is."""
    world = World(schema)
    world.create("clCreateBuffer", context=world.context, flags=flags, size=SIZE, host_ptr=HOST)
    assert ("without copying it" in unseen([derive(world.write(tmp_path / "1-0.gdx"))])) == both
