"""What differs between two recorded runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

COMPARISON = "gpudx.diff/1"

Aspect = Literal[
    "processes", "allocations", "kernels", "geometry", "arguments", "errors", "environment", "objects", "ending"
]
# Of differences at the same place the earlier aspect is told first: an allocation explains an argument.
ASPECTS: tuple[Aspect, ...] = (
    "processes", "allocations", "kernels", "geometry", "arguments", "errors", "environment", "objects", "ending",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One difference: where, and what it was and is. `good` and `bad` are calls, counted from 1; None: none there."""

    aspect: Aspect
    where: str
    was: str
    now: str
    process: int = 0  # pairs of processes, in order of time
    place: float = 0.0  # in the calls of the good run: what orders differences
    good: int | None = None
    bad: int | None = None

    @property
    def text(self) -> str:
        """ "launch #812 gemm: argument 3 n 11008 -> 14336"."""
        return f"{self.where} {self.was} -> {self.now}"


@dataclass(frozen=True)
class Comparison:
    """All of it. `counts` has every aspect that was compared; `shown` the first differences of each."""

    good: str
    bad: str
    counts: dict[str, int]
    shown: tuple[Difference, ...]
    first: Difference | None
    launches: tuple[int, int]
    notes: tuple[str, ...] = ()  # what could not be compared, and how what could was
    schema: str = COMPARISON

    @property
    def same(self) -> bool:
        return not any(self.counts.values())
