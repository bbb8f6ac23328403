"""Addresses, allocations of every family, and the pointers of launches."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support.cuda_world import CudaWorld

from gpudx.facts import Facts, derive


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def facts_of(world: CudaWorld, folder: Path) -> Facts:
    return derive(world.write(folder / "1-0.gdx"))


def labels(facts: Facts, address: int, positions: list[int]) -> list[str | None]:
    rows = facts.memory.at(np.full(len(positions), address, np.uint64), np.array(positions, np.int64))
    return [facts.objects.label(int(r)) if r >= 0 else None for r in rows]


def test_an_address_belongs_to_one_allocation_after_the_other(cuda: CudaWorld, tmp_path: Path) -> None:
    first = cuda.alloc(4096)
    gone = cuda.free(first)
    cuda.alloc(64, at=first + 1024)
    cuda.alloc(1 << 30)
    end = cuda.sync()
    facts = facts_of(cuda, tmp_path)
    assert labels(facts, first + 1030, [0, gone, end]) == [None, "memory #1", "memory #2"]
    assert labels(facts, first, [end]) == ["memory #1"] and labels(facts, first + 4096, [end]) == [None]
    assert facts.memory.ends_at(first + 1088, end) == facts.memory.one(first + 1024, end)
    assert facts.memory.ends_at(first + 4096, end) == -1


def test_a_live_allocation_comes_before_a_freed_one_inside_it(cuda: CudaWorld, tmp_path: Path) -> None:
    outer = cuda.create("cuMemHostAlloc", result=0x7E0000000000, size=1 << 20)
    cuda.create("cuMemHostRegister_v2", result=outer + 4096, size=4096)
    cuda.call("cuMemHostUnregister", mem=outer + 4096)
    end = cuda.sync()
    assert labels(facts_of(cuda, tmp_path), outer + 5000, [end]) == ["memory #1"]


def test_sizes_and_families(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.create("cuMemAllocPitch_v2", pitch=512, width=500, height=10, element=4)
    memory = cuda.create("cuMemAllocAsync", size=100, queue=cuda.queue)
    cuda.call("cuMemFreeAsync", mem=memory, queue=cuda.queue)
    objects = facts_of(cuda, tmp_path).objects
    rows = objects.rows_of("memory")
    assert [(objects.family(int(r)), int(objects.table["size"][r])) for r in rows] == [
        ("pitched", 5120),
        ("async", 100),
    ]
    assert objects.table["later"][rows].tolist() == [False, True]


def test_pointers_of_a_launch(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    kernel = cuda.kernel("_ZN2ns3runIfLi4EEEvPKT_PS1_6Paramsl", [8, 8, 24, 8])
    cuda.launch(kernel, [memory + 8, 0, struct.pack("<QQQ", 5, memory, 7), memory])
    facts = facts_of(cuda, tmp_path)
    pointers = facts.launches.pointers
    rows = zip(pointers.index, pointers.word, pointers.inside, pointers.value, pointers.object >= 0, strict=True)
    assert [tuple(map(int, r)) for r in rows] == [
        (0, 0, 0, memory + 8, 1), (1, 0, 0, 0, 0), (2, 8, 1, memory, 1),
    ]  # fmt: skip
    info = facts.launches.info(0)
    assert info is not None and info.name == "ns::run<float, 4>"
    assert [a.type for a in info.args.values()] == ["float const*", "float*", "Params", "long"]
    assert [a.read_only for a in info.args.values()] == [True, False, False, False]
    assert facts.launches.geometry(0) == ((32, 1, 1), (32, 1, 1))


def test_a_kernel_ends_with_its_module(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.kernel("_Z5scalePfi", [8, 4])
    end = cuda.call("cuModuleUnload", program=cuda.module)
    objects = facts_of(cuda, tmp_path).objects
    row = int(objects.at(np.array([kernel], np.uint64), np.array([end], np.int64))[0])
    assert int(objects.table["gone"][row]) == end


def test_a_kernel_that_only_a_note_tells_of(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.handle()
    cuda._layouts[kernel] = []
    cuda.launch(kernel, [])
    cuda.note("note_kernel", {"kernel": kernel, "program": 0, "num_args": 0, "device": 0}, "_Z4warmv")
    cuda.launch(kernel, [])
    launches = facts_of(cuda, tmp_path).launches
    assert [launches.name(r) for r in range(2)] == ["warm", "warm"]
