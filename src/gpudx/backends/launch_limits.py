"""Limits of launches of blocks of threads: every limit that a launch breaks, with its numbers. CUDA and HIP have these alike.

A limit that the driver did not tell (0) limits nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

Shape = tuple[int, ...]
Numbers = Mapping[str, int]


@dataclass(frozen=True)
class Launch:
    """A launch with everything that limits it. `device` and `kernel` are the numbers of their notes."""

    grid: Shape
    block: Shape
    shared: int
    device: Numbers
    kernel: Numbers
    most_threads: int = 0  # of a block, on the device
    kernel_threads: int = 0  # of a block of this kernel
    static_shared: int = 0
    units: int = 0
    cluster: Shape = ()
    cooperative: bool = False
    parameter_bytes: int = 0
    names: tuple[str, ...] = field(default=("x", "y", "z"))

    @property
    def threads(self) -> int:
        return prod(self.block)


def grid(launch: Launch) -> Iterator[str]:
    return _each_way(launch, launch.grid, "max_grid_", "the grid has {} blocks in {}")


def block(launch: Launch) -> Iterator[str]:
    return _each_way(launch, launch.block, "max_", "the block has {} threads in {}")


def _each_way(launch: Launch, sizes: Shape, limit: str, told: str) -> Iterator[str]:
    for name, size in zip(launch.names, sizes, strict=True):
        most = launch.device.get(f"{limit}{name}", 0)
        if not size:
            yield told.format(0, name)
        elif size > most > 0:
            yield f"{told.format(f'{size:,}', name)}, but the device allows {most:,}"


def threads(launch: Launch) -> Iterator[str]:
    shape = " x ".join(map(str, launch.block))
    if launch.threads > launch.most_threads > 0:
        yield f"a block of {shape} has {launch.threads:,} threads, but the device allows {launch.most_threads:,}"
    elif launch.threads > launch.kernel_threads > 0:
        yield f"a block of {shape} has {launch.threads:,} threads, this kernel can have {launch.kernel_threads:,}"


def cooperative(launch: Launch) -> Iterator[str]:
    """All blocks of a cooperative launch must be resident at once."""
    if not launch.cooperative:
        return
    if not launch.device.get("cooperative", 1):
        yield "the device has no cooperative launches"
    fit = resident(launch)
    if fit and prod(launch.grid) > fit:
        yield f"a cooperative launch of {prod(launch.grid):,} blocks, of which at most {fit:,} fit on the device at once"


def resident(launch: Launch) -> int:
    """So many blocks fit on the device at once, at most: what threads and blocks allow; 0 where that is not known."""
    threads, blocks = (launch.device.get(n, 0) for n in ("threads_per_unit", "blocks_per_unit"))
    if not (launch.units and threads and blocks and launch.threads):
        return 0
    warp = launch.device.get("warp_size", 0) or 32
    return launch.units * min(blocks, threads // (-(-launch.threads // warp) * warp))


def parameters(launch: Launch) -> Iterator[str]:
    most = launch.device.get("parameter_bytes", 0)
    if launch.parameter_bytes > most > 0:
        yield f"{launch.parameter_bytes:,} bytes of parameters, the device takes {most:,}"
