"""Limits of HIP launches: each that is broken is told with its numbers, and a launch that breaks none is not accused."""

from __future__ import annotations

import pytest

from gpudx.backends.hip.rules import Launch, broken

DEVICE = {"max_x": 1024, "max_y": 1024, "max_z": 1024, "max_grid_x": 2**31 - 1, "shared_per_block": 65536}


def launch(
    grid: tuple[int, ...] = (4, 1, 1),
    block: tuple[int, ...] = (64, 1, 1),
    shared: int = 0,
    static: int = 0,
    threads: int = 1024,
    **kernel: int,
) -> Launch:
    return Launch(grid, block, shared, DEVICE, kernel, most_threads=1024, kernel_threads=threads, static_shared=static)


def test_an_ordinary_launch_breaks_nothing() -> None:
    assert broken(launch()) == []
    assert broken(launch(grid=(2**22 - 1, 1, 1), block=(1024, 1, 1), shared=65536)) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (launch(grid=(2**22, 1, 1), block=(1024, 1, 1)), "4,294,967,296 work-items in x"),
        (launch(block=(2048, 1, 1)), "the device allows 1,024"),
        (launch(block=(512, 1, 1), threads=256), "this kernel can have 256"),
        (launch(shared=60000, static=8000), "pass the 65,536"),
        (launch(required_x=128, required_y=1, required_z=1), "requires blocks of 128 x 1 x 1"),
        (launch(grid=(0, 1, 1)), "the grid has 0 blocks in x"),
    ],
)
def test_each_limit_is_told(made: Launch, said: str) -> None:
    assert any(said in text for text in broken(made)), broken(made)
