"""What limits a HIP launch: every limit that a launch breaks, with its numbers.

HIP runtime API, hipLaunchKernel and hipModuleLaunchKernel: the work-items of a grid in one dimension, blocks times threads,
must be fewer than 2^32. HIP documentation, "Hardware features": a block has at most 1024 threads and 64 KB of local data
share. A kernel's own limits come from the metadata of its code object (LLVM, "User Guide for AMDGPU Backend"): the launch
bounds that it was compiled with, and a block size that it requires.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.backends import launch_limits
from gpudx.backends.launch_limits import Launch, Shape

__all__ = ["SETTABLE", "Launch", "attributes", "broken"]

SETTABLE: dict[int, str] = {}  # no attribute of a function changes what a launch may have
MOST_ITEMS = 1 << 32
LOCAL_DATA_SHARE = 64 << 10


def broken(launch: Launch) -> list[str]:
    """Every limit that the launch breaks."""
    checks = (
        launch_limits.grid,
        launch_limits.block,
        launch_limits.threads,
        _work_items,
        _required,
        _local_data,
        launch_limits.cooperative,
    )
    return [text for check in checks for text in check(launch)]


def attributes(data: bytes) -> tuple[Shape, bool]:
    """HIP launches have no attributes."""
    return (), False


def _work_items(launch: Launch) -> Iterator[str]:
    for name, blocks, threads in zip(launch.names, launch.grid, launch.block, strict=True):
        if blocks * threads >= MOST_ITEMS:
            yield (
                f"{blocks:,} blocks of {threads:,} threads are {blocks * threads:,} work-items in {name}, "
                f"HIP takes fewer than {MOST_ITEMS:,}"
            )


def _required(launch: Launch) -> Iterator[str]:
    required = tuple(launch.kernel.get(f"required_{name}", 0) for name in launch.names)
    if any(required) and required != tuple(launch.block):
        yield f"the kernel requires blocks of {_times(required)}, the launch has {_times(launch.block)}"


def _local_data(launch: Launch) -> Iterator[str]:
    most = launch.device.get("shared_per_block", 0) or LOCAL_DATA_SHARE
    total = launch.static_shared + launch.shared
    if total > most:
        yield (
            f"local data share: {launch.static_shared:,} bytes in the kernel and {launch.shared:,} passed to the launch "
            f"pass the {most:,} that a block can have"
        )


def _times(shape: Shape) -> str:
    return " x ".join(map(str, shape))
