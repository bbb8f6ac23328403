"""How many groups of threads that run together (warps, waves) a kernel leaves room for, by what the compiler told of it."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.model.kernel_builds import KernelBuild


@dataclass(frozen=True)
class Occupancy:
    """A bound, not a measurement: the size of the launch's groups and memory that launches add may lower it."""

    waves: int  # that registers leave room for, on one processor of the device
    most: int  # that the processor takes at best
    blocks: int | None = (
        None  # groups that static shared memory leaves room for; None: it limits nothing, or is not told
    )
    unit: str = "warps"


@dataclass(frozen=True)
class Built:
    """A kernel as it was built, with its bound; None where the architecture's limits are not known here."""

    build: KernelBuild
    occupancy: Occupancy | None = None
