"""The files that were loaded as code in a run: what they are, and for the user's own, what they were built from."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from gpudx import native
from gpudx.facts.maps import parse_maps
from gpudx.identity import hashes
from gpudx.identity.built import built
from gpudx.identity.contents import content
from gpudx.identity.places import is_own
from gpudx.lab import source_tree
from gpudx.lab.recorded import RunResult
from gpudx.lab.roll import RollKind
from gpudx.model import LoadedObject
from gpudx.trace import Trace

MOST_PROCESSES = 16
GONE = "It was deleted or replaced while it ran, so its content is not known."
REWRITTEN = "It was written after it was started: this describes the new file."
UNREADABLE = "It cannot be read, so nothing is known about it."


@dataclass
class Found:
    """A path that was loaded, by whom, and since when (seconds since 1970)."""

    path: str
    executable: bool = False
    gone: bool = False
    since: float = field(default_factory=time.time)
    processes: dict[int, None] = field(default_factory=dict)


def real_time(monotonic_ns: int) -> float:
    """Seconds since 1970 of a time of the roll."""
    return time.time() - (time.monotonic_ns() - monotonic_ns) / 1e9


def loaded(run: RunResult, traces: Sequence[Trace]) -> tuple[LoadedObject, ...]:
    """Executables first, then the user's own, then the rest."""
    found = {path: one for path, one in _found(run, traces).items() if not _is_ours(path)}
    states = {path: state for path in found if (state := _state(path)) is not None}
    with ThreadPoolExecutor(max_workers=1) as aside:  # hashing leaves the interpreter free
        hashing = aside.submit(hashes.sha256_of, {path: s for path, s in states.items() if not found[path].gone})
        plain = [_describe(one, states.get(one.path)) for one in found.values()]
        sums = hashing.result()
    committed = _committed(plain)
    told = [replace(one, sha256=sums.get(one.path, ""), committed=one.path in committed) for one in plain]
    return tuple(sorted(map(_readable, told), key=lambda one: (not one.executable, not one.own, one.path)))


def _committed(objects: Sequence[LoadedObject]) -> frozenset[str]:
    """Those that are part of the repository they lie in; git is asked once for each repository."""
    trees = dict.fromkeys(one.tree for one in objects if one.tree)
    return frozenset().union(
        *(source_tree.tracked(tree, [o.path for o in objects if o.tree == tree]) for tree in trees)
    )


def _found(run: RunResult, traces: Iterable[Trace]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for entry in run.roll:
        if entry.kind == RollKind.LOADED:
            _add(found, entry.path, entry.pid, real_time(entry.time_ns), True)
    for look in run.looks:
        _add(found, look.path, look.pid, real_time(look.time_ns), True)
    for trace in traces:
        since = int(trace.header["start_real_ns"]) / 1e9
        for mapping in parse_maps(trace.maps):
            if mapping.is_file and mapping.executable:
                _add(found, mapping.path, trace.pid, since, False, mapping.deleted)
    return found


def _add(found: dict[str, Found], path: str, pid: int, since: float, executable: bool, gone: bool = False) -> None:
    gone |= path.endswith(" (deleted)")
    one = found.setdefault(path.removesuffix(" (deleted)"), Found(path.removesuffix(" (deleted)"), executable))
    one.executable |= executable
    one.gone |= gone
    one.since = min(one.since, since)
    if len(one.processes) < MOST_PROCESSES:
        one.processes[pid] = None


def _is_ours(path: str) -> bool:
    return os.path.basename(path).startswith("libgpudx") and os.path.dirname(path) == str(native.library().parent)


def _state(path: str) -> os.stat_result | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state if stat.S_ISREG(state.st_mode) else None


def _readable(one: LoadedObject) -> LoadedObject:
    return one if one.sha256 or one.unknown else replace(one, unknown=UNREADABLE)


def _describe(one: Found, state: os.stat_result | None) -> LoadedObject:
    plain = LoadedObject(one.path, tuple(one.processes), one.executable, is_own(one.path), started=one.since)
    if one.gone or state is None:
        return replace(plain, unknown=GONE if one.gone or not os.path.lexists(one.path) else UNREADABLE)
    late = one.executable and state.st_mtime > one.since + 1
    tree = source_tree.root_of(os.path.dirname(one.path)) if plain.own and not late else ""
    told = replace(plain, size=state.st_size, modified=state.st_mtime, tree=tree, unknown=REWRITTEN if late else "")
    found = content(one.path, hashes.key(state), plain.own and not late, tree, hashes.settled(state))
    if found is None:
        return replace(plain, size=state.st_size, modified=state.st_mtime)
    return replace(
        told,
        build_id=found.build_id,
        compilers=found.compilers,
        architectures=found.architectures,
        revision=found.revision,
        dated=found.dated,
        built=built(found.made, told.modified, one.since) if found.made else None,
    )
