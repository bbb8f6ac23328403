"""Arguments of kernels for which another buffer may be meant: one that was filled, or that is read back, and that no launch was passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.calls_by_line import Group, groups
from gpudx.facts.given_memory import uses
from gpudx.facts.last_writes import LastWrites

Alike = Callable[[Facts, int, int], NDArray[np.int64]]


@dataclass(frozen=True)
class Argument:
    """Calls that set an argument of the kernel that the group is named after, or launches of it; `given` and `wanted` are rows of
    Objects."""

    group: Group
    index: int
    given: int
    wanted: int


def arguments(facts: Facts, writes: LastWrites, alike: Alike) -> Iterator[Argument]:
    """For each kernel function and argument, the buffers that it may have been meant to be passed; those that fewer calls set first."""
    found: list[Argument] = []
    given, launched = _given(facts), facts.launches.arguments.object
    memory = facts.objects.rows_of("buffer", "image", "memory").tolist()
    waiting = [obj for obj in memory if obj not in launched and _is_waiting(facts, writes, obj)]
    functions, passed = facts.kernels.functions(given.kernel_row), given.object
    pairs = np.unique(np.stack([functions, given.index])[:, passed >= 0], axis=1).T if waiting else np.zeros((0, 2), np.int64)
    for function, index in pairs.tolist():
        mine = np.flatnonzero((functions == function) & (given.index == index))
        objects = dict(zip(given.position[mine].tolist(), passed[mine].tolist(), strict=True))
        info = facts.kernels.info(int(given.kernel_row[mine[0]]))
        for group in groups(facts, list(objects), info.symbol or info.name) if info else []:
            last = objects[group.positions[-1]]
            near = set(alike(facts, last, group.positions[-1]).tolist()) & set(waiting) if last >= 0 else set()
            found += [Argument(group, index, last, other) for other in sorted(near)]
    yield from sorted(found, key=lambda one: len(one.group.positions))


@dataclass(frozen=True)
class _Given:
    """What kernels are passed, by the calls that say so."""

    position: NDArray[np.int64]
    kernel_row: NDArray[np.int64]
    index: NDArray[np.int64]
    object: NDArray[np.int64]


def _given(facts: Facts) -> _Given:
    launches, given = facts.launches, facts.set_args
    if not launches.by_address.any():
        return _Given(given.position, given.kernel_row, given.index, facts.objects.live_at(given.value, given.position))
    args = launches.arguments
    return _Given(launches.position[args.launch], launches.kernel_row[args.launch], args.index.astype(np.int64), args.object)


def _is_waiting(facts: Facts, writes: LastWrites, obj: int) -> bool:
    """Did the host fill it for nothing, or does it read it though nothing writes it?"""
    mine = uses(facts)[uses(facts)["object"] == obj]
    reads = (mine["how"] & (READ | WRITE)) == READ
    return writes.by_host(obj) != bool(reads.any())
