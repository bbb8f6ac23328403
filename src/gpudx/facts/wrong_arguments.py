"""Arguments of kernels for which another buffer may be meant: one that was filled, or that is read back, and that no launch was passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.given_memory import uses
from gpudx.facts.last_writes import NEVER, LastWrites

Alike = Callable[[Facts, int, int], NDArray[np.int64]]


@dataclass(frozen=True)
class Argument:
    """`positions`: of the launches that were passed `given`; `wanted` is another row of Objects."""

    kernel: str
    index: int
    positions: tuple[int, ...]
    given: int
    wanted: int


def arguments(facts: Facts, writes: LastWrites, alike: Alike) -> Iterator[Argument]:
    """For each kernel function and argument, the buffers that it may have been meant to be passed."""
    launches, given = facts.launches, facts.launches.arguments
    passed = np.unique(given.object[given.object >= 0])
    functions = facts.kernels.functions(launches.kernel_row)
    for function in np.unique(functions[functions >= 0]).tolist():
        rows = np.flatnonzero((functions == function) & (launches.status == 0))
        of = np.isin(given.launch, rows) & (given.object >= 0)
        for index, obj in np.unique(np.stack([given.index[of].astype(np.int64), given.object[of]]), axis=1).T.tolist():
            mine = given.launch[of & (given.index == index) & (given.object == obj)]
            positions = tuple(launches.position[mine].tolist())
            for other in alike(facts, obj, positions[-1]).tolist():
                if other not in passed and _is_waiting(facts, writes, other, positions[-1]):
                    yield Argument(launches.name(int(mine[0])), int(index), positions, int(obj), other)


def _is_waiting(facts: Facts, writes: LastWrites, obj: int, position: int) -> bool:
    """Did the host fill it for nothing, or does it read it though nothing writes it?"""
    mine = uses(facts)[uses(facts)["object"] == obj]
    reads = (mine["how"] & (READ | WRITE)) == READ
    filled = bool(facts.objects.table["host_ptr"][obj]) or writes.before(obj, position) != NEVER
    return filled != bool(reads.any())
