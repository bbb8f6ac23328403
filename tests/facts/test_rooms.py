"""Rooms behind pointers, and which launches compare with each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.synthetic import GLOBAL, LOCAL, Arg, World

from gpudx.facts import derive
from gpudx.facts.kernels import ArgInfo, KernelInfo
from gpudx.facts.pointer_extent import UNKNOWN, parameters_of, rooms_of


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def test_rooms_end_with_the_allocation(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, gone = cuda.alloc(4096), cuda.alloc(4096)
    cuda.free(gone)
    kernel = cuda.kernel("_Z4copyPfPKfsl", [8, 8, 2, 8])
    cuda.launch(kernel, [memory + 96, memory, -3, 1 << 40], (4, 2, 1), (32, 1, 1))
    cuda.launch(kernel, [0, gone, 7, 9])
    table = rooms_of(derive(cuda.write(tmp_path / "1-0.gdx")), 0)
    assert table is not None and table.launch.tolist() == [0, 1]
    assert table.rooms[0].tolist() == [4000, UNKNOWN] and table.rooms[1].tolist() == [4096, UNKNOWN]
    assert table.numbers[2].tolist() == [-3, 7] and table.numbers[3].tolist() == [1 << 40, 9]
    assert table.threads[0].tolist() == [128, 2, 1] and table.groups[0].tolist() == [4, 2, 1]


def test_what_does_not_compare(cuda: CudaWorld, tmp_path: Path) -> None:
    """Zero, one, negative numbers, switches, nulls and equal pointers make another kind of launch; sizes do not."""
    a, b = cuda.alloc(4096), cuda.alloc(4096)
    kernel = cuda.kernel("_Z4copyPfPKfib", [8, 8, 4, 1])
    given = [
        (a, b, 5, 0),
        (b, a, 900, 0),
        (a, b, 1, 0),
        (a, b, 0, 0),
        (a, b, -2, 0),
        (a, b, 5, 1),
        (a, a, 5, 0),
        (a, 0, 5, 0),
    ]
    for values in given:
        cuda.launch(kernel, values)
    table = rooms_of(derive(cuda.write(tmp_path / "1-0.gdx")), 0)
    assert table is not None and len(table.launch) == len(given)
    assert table.kind[0] == table.kind[1] and len(set(table.kind.tolist())) == len(given) - 1


@pytest.mark.parametrize(
    ("symbol", "sizes", "known"),
    [
        ("_Z1fPfid6__half", [8, 4, 8, 2], True),
        ("_Z1fPf5Range", [8, 16], False),
        ("_Z1fPf6float2", [8, 8], False),
        ("_Z1fP5Range", [8], False),
        ("f", [8, 4], False),
        ("_Z1fi", [4], False),
    ],
)
def test_kernels_that_are_understood(
    cuda: CudaWorld, tmp_path: Path, symbol: str, sizes: list[int], known: bool
) -> None:
    cuda.launch(cuda.kernel(symbol, sizes), [0 if size <= 8 else bytes(size) for size in sizes])
    assert (rooms_of(derive(cuda.write(tmp_path / "1-0.gdx")), 0) is not None) == known


@pytest.mark.parametrize(
    ("type_", "indexes"),
    [("int*", True), ("unsigned int const*", True), ("uint4*", True), ("long long*", True), ("ulong*", True),
     ("unsigned char*", False), ("unsigned short const*", False), ("float*", False), ("float**", True)],
)  # fmt: skip
def test_pointers_that_may_say_where_to_look(type_: str, indexes: bool) -> None:
    known = parameters_of(KernelInfo("f", 1, 1, 1, args={0: ArgInfo(0, type_, "", GLOBAL, size=8, element=4)}))
    assert known is not None and (known.indexes == {0}) == indexes


def test_buffers_and_shapes_of_other_apis(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL), Arg("float*", "tile", LOCAL), Arg("int", "n")])
    world.set_arg(kernel, 0, world.buffer(4000))
    world.set_arg(kernel, 1, 0, 256, local=True)
    world.set_arg(kernel, 2, 1000, 4)
    world.launch(kernel, (1024,), (64,))
    world.launch(kernel, (1000, 3))
    table = rooms_of(derive(world.write(tmp_path / "1-0.gdx")), 0)
    assert table is not None and table.rooms[0].tolist() == [4000, 4000] and table.numbers[2].tolist() == [1000, 1000]
    assert table.threads.tolist() == [[1024, 1, 1], [1000, 3, 1]] and table.groups.tolist() == [[16, 0, 0], [0, 0, 0]]
