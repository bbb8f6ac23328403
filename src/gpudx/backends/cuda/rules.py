"""What limits a CUDA launch: every limit that a launch breaks, with its numbers.

CUDA driver API reference, cuLaunchKernel and cuLaunchKernelEx; CUDA C++ Programming Guide, "Compute Capabilities". A
limit that the driver did not tell (0) limits nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gpudx.backends import launch_limits
from gpudx.backends.launch_limits import Launch, Shape

__all__ = ["SETTABLE", "Launch", "attributes", "broken"]

CLUSTER_DIMENSION, COOPERATIVE = 4, 2  # CUlaunchAttributeID
ATTRIBUTE_BYTES, VALUE_AT = 72, 8
PORTABLE_CLUSTER, LARGEST_CLUSTER = 8, 16
# Attributes of functions that programs set (CUfunction_attribute), by the names that the recorder gave them.
SETTABLE = {
    8: "max_dynamic_shared", 10: "cluster_required", 11: "cluster_x", 12: "cluster_y", 13: "cluster_z",
    14: "nonportable_cluster",
}  # fmt: skip
REGISTER_UNIT = 8  # registers of a thread are given out in steps of so many


def broken(launch: Launch) -> list[str]:
    """Every limit that the launch breaks."""
    checks = (
        launch_limits.grid,
        launch_limits.block,
        launch_limits.threads,
        _registers,
        _shared,
        _cluster,
        launch_limits.cooperative,
        launch_limits.parameters,
    )
    return [text for check in checks for text in check(launch)]


def attributes(data: bytes) -> tuple[Shape, bool]:
    """The cluster shape and whether the launch is cooperative, from the attributes of a configuration."""
    cluster: Shape = ()
    cooperative = False
    for at in range(0, len(data) - ATTRIBUTE_BYTES + 1, ATTRIBUTE_BYTES):
        words = [int.from_bytes(data[at + VALUE_AT + 4 * i : at + VALUE_AT + 4 * i + 4], "little") for i in range(3)]
        kind = int.from_bytes(data[at : at + 4], "little")
        cluster = (words[0], words[1], words[2]) if kind == CLUSTER_DIMENSION else cluster
        cooperative = cooperative or (kind == COOPERATIVE and bool(words[0]))
    return cluster, cooperative


def _registers(launch: Launch) -> Iterator[str]:
    """Registers are given to whole warps."""
    each, most = launch.kernel.get("registers", 0), launch.device.get("registers_per_block", 0)
    warp = launch.device.get("warp_size", 0) or 32
    threads = -(-launch.threads // warp) * warp
    needed = threads * -(-each // REGISTER_UNIT) * REGISTER_UNIT
    if each and needed > most > 0:
        yield f"{threads:,} threads of {each} registers need {needed:,} registers, a block can have {most:,}"


def _shared(launch: Launch) -> Iterator[str]:
    default, most = (launch.device.get(n, 0) for n in ("shared_per_block", "shared_per_block_optin"))
    allowed = max(launch.kernel.get("max_dynamic_shared", 0), 0)
    total = launch.static_shared + launch.shared
    what = f"shared memory: {launch.static_shared:,} bytes in the kernel and {launch.shared:,} passed to the launch"
    if total > max(default, most) > 0:
        yield f"{what} exceed the {max(default, most):,} that a block can have on this device"
    elif allowed and launch.shared > allowed:
        yield f"{what}: the kernel is limited to {allowed:,}; it can request up to {most - launch.static_shared:,}"
    elif not allowed and total > default > 0:
        yield f"{what} exceed the default of {default:,}; up to {most:,} can be requested"


def _cluster(launch: Launch) -> Iterator[str]:
    required = tuple(launch.kernel.get(f"cluster_{n}", 0) for n in launch.names)
    shape = launch.cluster or (required if any(required) else ())
    if launch.kernel.get("cluster_required", 0) and not shape:
        yield "the kernel must be launched with a cluster size, and none was passed"
    if not any(shape):
        return
    if not launch.device.get("clusters", 1):
        yield "the device has no clusters"
    if any(required) and launch.cluster and launch.cluster != required:
        yield f"the kernel requires clusters of {_times(required)}, the launch has {_times(launch.cluster)}"
    most = LARGEST_CLUSTER if launch.kernel.get("nonportable_cluster", 0) else PORTABLE_CLUSTER
    if prod(shape) > most:
        yield f"a cluster of {_times(shape)} has {prod(shape)} blocks, this kernel can have {most}"
    for name, blocks, size in zip(launch.names, launch.grid, shape, strict=True):
        if size and blocks % size:
            yield f"the grid has {blocks:,} blocks in {name}, not a multiple of the cluster's {size}"


def _times(shape: Shape) -> str:
    return " x ".join(map(str, shape))
