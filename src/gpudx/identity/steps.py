"""Build tools that ran before a program did, from the roll: with which status they ended, and whether anything was compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from gpudx.identity.objects import real_time
from gpudx.lab.roll import RollEntry, RollKind
from gpudx.model import Step

# Tools that decide what is built. Compilers are no steps of their own: configuration scripts try them, and expect some to fail.
TOOLS = frozenset("make gmake ninja ninja-build samu cmake cargo bazel scons xmake".split())
COMPILES = re.compile(
    r"(?:.*-)?(?:cc1|cc1plus|cc1obj|f951|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|rustc|nvcc|hipcc|cicc|ptxas|ld|ld\.\w+|lld|mold|collect2|as|tcc)"
    r"(?:-\d+(?:\.\d+)*)?"
)
MOST_STEPS = 50


def steps(roll: Sequence[RollEntry]) -> tuple[Step, ...]:
    """The build tools of a run that were not started by another one, oldest first."""
    started = [entry for entry in roll if entry.kind == RollKind.LOADED]
    tools = {entry.pid: entry for entry in started if os.path.basename(entry.path) in TOOLS}
    parents = {entry.pid: entry.ppid for entry in started}
    ends = {(entry.pid, entry.path): entry for entry in roll if entry.kind == RollKind.ENDED}
    outer = [entry for pid, entry in tools.items() if not _above(pid, parents) & tools.keys()]
    compiling = [entry.pid for entry in started if COMPILES.fullmatch(os.path.basename(entry.path))]
    busy = {ancestor for pid in compiling for ancestor in _above(pid, parents)}
    told = [_step(entry, ends.get((entry.pid, entry.path)), entry.pid in busy) for entry in outer]
    return tuple(sorted(told, key=lambda step: step.began)[:MOST_STEPS])


def _step(began: RollEntry, end: RollEntry | None, compiled: bool) -> Step:
    ended = real_time(end.time_ns) if end else 0.0
    return Step(began.path, began.pid, real_time(began.time_ns), ended, end.status if end else None, compiled)


def _above(pid: int, parents: dict[int, int]) -> set[int]:
    """The ancestors of a process; numbers that were used twice may close a circle."""
    found: set[int] = set()
    while pid in parents and parents[pid] not in found:
        pid = parents[pid]
        found.add(pid)
    return found
