"""Arguments of kernels for which another buffer may be meant: one that was filled, or that is read back, and that no launch was passed; of
an argument that is only read, one with a result that nobody uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.calls_by_line import Group, groups
from gpudx.facts.given_memory import uses
from gpudx.facts.last_writes import NEVER, LastWrites

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
    """For each kernel function and argument, the buffers that it may have been meant to be passed: first those in place of one that an
    earlier launch has used already, and those that fewer calls set."""
    found: list[Argument] = []
    given, launched = _given(facts), facts.launches.arguments.object
    memory = facts.objects.rows_of("buffer", "image", "memory").tolist()
    waiting = [obj for obj in memory if obj not in launched and _is_waiting(facts, writes, obj)]
    unread = {obj: last for obj in memory if obj in launched and (last := _unread_since(facts, writes, obj)) is not None}
    functions, passed = facts.kernels.functions(given.kernel_row), given.object
    known = bool(waiting or unread)
    pairs = np.unique(np.stack([functions, given.index])[:, passed >= 0], axis=1).T if known else np.zeros((0, 2), np.int64)
    for function, index in pairs.tolist():
        mine = np.flatnonzero((functions == function) & (given.index == index))
        objects = dict(zip(given.position[mine].tolist(), passed[mine].tolist(), strict=True))
        info = facts.kernels.info(int(given.kernel_row[mine[0]]))
        for group in groups(facts, list(objects), info.symbol or info.name) if info else []:
            last = objects[group.positions[-1]]
            near = set(alike(facts, last, group.positions[-1]).tolist()) if last >= 0 else set()
            reads = bool(near & unread.keys()) and facts.kernels.only_reads(int(given.kernel_row[mine[0]]), index)
            late = {obj for obj, at in unread.items() if reads and at < group.positions[0]}
            near &= {*waiting, *late}
            found += [Argument(group, index, last, other) for other in sorted(near)]
    yield from sorted(found, key=lambda one: (not _is_used_before(facts, one), len(one.group.positions)))


def _is_used_before(facts: Facts, one: Argument) -> bool:
    """Has a launch read the buffer that is passed before, under another argument?"""
    table = uses(facts)
    reads = (table["argument"] >= 0) & ((table["how"] & (READ | WRITE)) == READ)
    return bool((reads & (table["object"] == one.given) & (table["position"] < one.group.positions[0])).any())


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


def _unread_since(facts: Facts, writes: LastWrites, obj: int) -> int | None:
    """The last launch that wrote it, where no launch and no call of the host uses what that left there; None: it is used."""
    last = writes.before(obj, len(facts.trace), by_launch=True)
    return last if last != NEVER and not writes.used_after(obj, last, frozenset()) else None


def _is_waiting(facts: Facts, writes: LastWrites, obj: int) -> bool:
    """Did the host fill it for nothing, or does it read it though nothing writes it?"""
    mine = uses(facts)[uses(facts)["object"] == obj]
    reads = (mine["how"] & (READ | WRITE)) == READ
    return writes.by_host(obj) != bool(reads.any())
