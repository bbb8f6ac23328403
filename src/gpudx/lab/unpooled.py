"""Memory pools of frameworks, made to take each block from the driver: by their variables, and from inside (gpudx/preload_python)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudx import backends
from gpudx.lab import inside

SUFFIX = ".unpooled"


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The variables for it; what the user has set stays."""
    return {**backends.unpooled(base), **inside.environment(base, inside.POOLS)}


def from_inside(traces: Path, pid: int) -> frozenset[str]:
    """The frameworks whose pool was switched off inside this process."""
    words = (path.name.removesuffix(SUFFIX).partition("-") for path in traces.glob(f"{pid}-*{SUFFIX}"))
    return frozenset(name for _, _, name in words)
