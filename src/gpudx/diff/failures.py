"""Calls that failed: the same ones, in the same order of each thread?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.diff.align import Aligner
from gpudx.diff.found import Found
from gpudx.diff.lines import bag_equal
from gpudx.diff.side import Side, code_of
from gpudx.facts.codes import mixed

U64 = NDArray[np.uint64]


def differences(good: Side, bad: Side, threads: list[tuple[int | None, int | None]], aligner: Aligner) -> list[Found]:
    """Failures without a partner. If only threads mixed differently, none."""
    mine, theirs = _codes(good), _codes(bad)
    if bag_equal(mine, theirs):
        return []
    found: list[Found] = []
    for one, other in threads:
        a, b = _of_thread(good, one), _of_thread(bad, other)
        left, right = aligner.align(mine[a], theirs[b])
        found += _alone(good, np.setdiff1d(a, a[left]).tolist(), 0)
        found += _alone(bad, np.setdiff1d(b, b[right]).tolist(), 1)
    return found


def _of_thread(side: Side, tid: int | None) -> NDArray[np.int64]:
    return np.flatnonzero(side.trace.column("tid", side.facts.errors.position) == (-1 if tid is None else tid))


def _codes(side: Side) -> U64:
    """A code for the call, its kernel and its status; names are looked up once for all that are alike."""
    trace, errors = side.trace, side.facts.errors
    status = trace.column("status", errors.position).astype(np.int64).view(np.uint64)
    rows = np.searchsorted(side.launches.position, errors.position)
    launch = np.isin(errors.position, side.launches.position)
    kernel = np.where(launch, np.append(side.kernel, np.uint64(0))[np.where(launch, rows, -1)], np.uint64(0))
    alike = mixed(len(status), [trace.call[errors.position].astype(np.uint64), status, kernel])
    _, first, which = np.unique(alike, return_index=True, return_inverse=True)
    shown = errors.position[first].tolist()
    names = [code_of(f"{_call(side, position)} {errors.status_name(position)}") for position in shown]
    return np.array(names, np.uint64)[which.reshape(-1)] if len(names) else np.zeros(0, np.uint64)


def _alone(side: Side, places: list[int], which: int) -> Iterator[Found]:
    for position in (int(side.facts.errors.position[place]) for place in places):
        status = side.facts.errors.status_name(position)
        where = f"call #{position + 1}{' of BAD' if which else ''} {_call(side, position)}:"
        if which:
            yield Found("errors", where, "no such failure", status, None, position)
        else:
            yield Found("errors", where, status, "no such failure", position, None)


def _call(side: Side, position: int) -> str:
    row = side.launches.at_position(position)
    return side.trace.info(position).name + (f" of kernel {side.launches.name(row)}" if row is not None else "")
