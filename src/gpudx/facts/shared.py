"""Objects that calls of several threads name: what concurrent work has in common."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.kernels import Kernels
from gpudx.facts.launches import Launches
from gpudx.facts.objects import Objects
from gpudx.trace import Trace

TOLD = (
    "kernel",
    "queue",
    "buffer",
    "subbuffer",
    "image",
    "memory",
    "svm",
    "graph_exec",
    "context",
)  # most telling first


@dataclass(frozen=True)
class Shared:
    """One object, and the threads that used it."""

    row: int
    kind: str
    label: str
    threads: tuple[int, ...]


def shared_objects(trace: Trace, objects: Objects, kernels: Kernels, launches: Launches) -> list[Shared]:
    """Most telling kinds first. A context is told only where nothing below it is shared: threads of a process mostly share one."""
    users: dict[int, set[int]] = defaultdict(set)
    for rows, tids in (*_named(trace, objects), _arguments(launches)):
        known = rows >= 0
        for row, tid in np.unique(np.stack([rows[known], tids[known].astype(np.int64)], axis=1), axis=0):
            users[int(row)].add(int(tid))
    several = [(row, tids) for row, tids in users.items() if len(tids) > 1 and objects.kind(row) in TOLD]
    several.sort(key=lambda one: (TOLD.index(objects.kind(one[0])), one[0]))
    below = any(objects.kind(row) != "context" for row, _ in several)
    return [
        Shared(row, objects.kind(row), _label(objects, kernels, row), tuple(sorted(tids)))
        for row, tids in several
        if not below or objects.kind(row) != "context"
    ]


def _named(trace: Trace, objects: Objects) -> list[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
    """Handles in the words of calls that use what they name."""
    found: list[tuple[NDArray[np.int64], NDArray[np.uint32]]] = []
    for info in trace.calls_made:
        if info.does in NO_USE:
            continue
        positions = trace.select(info)
        for name, kind in info.fields:
            if kind.startswith("handle:"):
                found.append(
                    (objects.at(trace.field(info, name, positions), positions), trace.column("tid", positions))
                )
    return found


NO_USE = (
    "create",
    "retain",
    "release",
    "free_later",
    "query",
    "hand_back",
)  # making, counting and ending are not using


def _arguments(launches: Launches) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Memory that launches were given."""
    args = launches.arguments
    return args.object, launches.tid[args.launch]


def _label(objects: Objects, kernels: Kernels, row: int) -> str:
    return f"kernel {kernels.name(row)} ({objects.label(row)})" if objects.kind(row) == "kernel" else objects.label(row)
