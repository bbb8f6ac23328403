"""Two threads used one kernel object at the same time.

A kernel object holds the arguments of its next launch. Setting them is the one thing in OpenCL that is not safe on
the same object from several threads (OpenCL 1.2 specification, appendix A.2). Between one thread's settings and its
launch another thread puts its own values there: the launch runs with a mixture, or the driver crashes while both
change the same list. A lock around the table that the kernel came from does not help.

Example: a cache gives every thread the same object.

    cl_kernel kernel = cache_lookup("scale");            // the same for all threads
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &mine);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL);

Fix it with one kernel object per thread (clCreateKernel or clCloneKernel for each), or with one lock held from the
first setting until the launch has returned.

Reported if calls of two threads on one object overlapped in time, or if a launch ran with a value that another thread had set
after the launching thread's own. Threads that take turns with a lock, or hand the object over, are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding, Prediction
from gpudx.model.cause_kinds import THREADS
from gpudx.text import plural

ID = "kernel-shared-by-threads"
CAUSE = Cause(
    id=ID,
    title="Two threads used one kernel object at the same time",
    refutes_if="The failure remains with one kernel object per thread, or with one host thread.",
    fix=(
        "Give each thread its own kernel object (clCreateKernel or clCloneKernel per thread). Each costs a little memory.",
        (
            "Or hold one lock from the first clSetKernelArg to the end of the launch call. This serialises "
            "launches of that kernel."
        ),
    ),
    predicts=(("recorded", "calls of two threads on one kernel object interleave or overlap"),),
    settled_by="gpudx investigate: runs in which threads take turns on a kernel object, or with one host thread",
    kind=THREADS,
    apart=(Prediction("turns", "gone", "no launch takes what another thread set"),),
)
SHOWN = 3
I64 = NDArray[np.int64]
PLACE = 36  # bits of a position
ARGUMENTS = 1 << 16


@dataclass(frozen=True)
class _Uses:
    """Settings and launches of kernel objects used by several threads, by object and time. Launches have index -1."""

    kernel_row: I64
    position: I64
    tid: I64
    index: I64


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel object."""
    uses = _shared(facts)
    if not len(uses.position):
        return
    overlaps, overwritten = _overlaps(facts, uses), _overwritten(uses)
    hits = np.concatenate([uses.kernel_row[overlaps[:, 0]], uses.kernel_row[overwritten[:, 0]]])
    for row in np.unique(hits)[:MOST]:
        mine = [pairs[uses.kernel_row[pairs[:, 0]] == row] for pairs in (overlaps, overwritten)]
        yield _finding(facts, uses, int(row), *mine)


def _shared(facts: Facts) -> _Uses:
    sets, launches = facts.set_args, facts.launches
    kernel_row = np.concatenate([sets.kernel_row, launches.kernel_row])
    tid = np.concatenate([sets.tid, launches.tid]).astype(np.int64)
    low, high = np.full(len(facts.objects) + 1, 1 << 40), np.full(len(facts.objects) + 1, -1)
    np.minimum.at(low, kernel_row, tid)
    np.maximum.at(high, kernel_row, tid)
    several = low < high
    several[-1] = False  # objects that were never seen
    keep = np.flatnonzero(several[kernel_row])
    position = np.concatenate([sets.position, launches.position])[keep]
    index = np.concatenate([sets.index, np.full(len(launches), -1)])[keep]
    order = np.lexsort((position, kernel_row[keep]))
    return _Uses(kernel_row[keep][order], position[order], tid[keep][order], index[order])


def _overlaps(facts: Facts, uses: _Uses) -> I64:
    """Pairs of neighbours (as rows of `uses`) that ran at the same time in two threads, one of them a setting.

    If any two calls on one object overlap, two neighbours in order of beginning do: a thread cannot overlap itself.
    """
    begin = facts.trace.column("begin", uses.position)
    end = facts.trace.column("end", uses.position)
    end = np.where(end == 0, np.uint64((1 << 64) - 1), end)
    same = (uses.kernel_row[1:] == uses.kernel_row[:-1]) & (uses.tid[1:] != uses.tid[:-1])
    setting = (uses.index[1:] >= 0) | (uses.index[:-1] >= 0)
    first = np.flatnonzero(same & setting & (end[:-1] > begin[1:]))
    return np.stack([first, first + 1], axis=1)


def _overwritten(uses: _Uses) -> I64:
    """(own setting, other thread's setting, own launch): the launch ran with the value of another thread.

    Only between threads that both launch the object: one that only ever sets arguments for another hands it over.
    """
    mixed = np.isin(uses.kernel_row, _left_open(uses))
    thread = _numbers(uses.kernel_row * (int(uses.tid.max()) + 1) + uses.tid, mixed)
    argument = _numbers(uses.kernel_row * ARGUMENTS + uses.index.clip(0, ARGUMENTS - 1), mixed)
    settings, launched = np.flatnonzero(mixed & (uses.index >= 0)), np.flatnonzero(mixed & (uses.index < 0))
    launch = _next(uses, thread, launched, settings)
    own, launch = settings[launch >= 0], launch[launch >= 0]
    last = _previous(uses, argument, settings, own, launch)
    other = (uses.tid[last] != uses.tid[own]) & np.isin(thread[last], thread[launched])
    return np.stack([own[other], last[other], launch[other]], axis=1)


def _left_open(uses: _Uses) -> I64:
    """Objects that another thread took over after a setting; where it is always after a launch, threads take turns."""
    changes = (uses.kernel_row[1:] == uses.kernel_row[:-1]) & (uses.tid[1:] != uses.tid[:-1])
    return np.unique(uses.kernel_row[:-1][changes & (uses.index[:-1] >= 0)])


def _numbers(key: I64, where: NDArray[np.bool_]) -> I64:
    """Small numbers for equal keys, so that number and position fit into 63 bits; -1 elsewhere."""
    numbers = np.full(len(key), -1, np.int64)
    numbers[where] = np.unique(key[where], return_inverse=True)[1]
    return numbers


def _next(uses: _Uses, key: I64, among: I64, rows: I64) -> I64:
    """For each of `rows`, the first of `among` with the same key after it, or -1."""
    keys, order = _sorted(uses, key, among)
    if not len(keys):
        return np.full(len(rows), -1)
    at = np.searchsorted(keys, _combined(uses, key, rows, rows))
    found = order[np.minimum(at, len(order) - 1)]
    return np.where((at < len(order)) & (key[found] == key[rows]), found, -1)


def _previous(uses: _Uses, key: I64, among: I64, rows: I64, before: I64) -> I64:
    """For each of `rows`, the last of `among` with the same key that precedes `before`; `rows` are among them."""
    keys, order = _sorted(uses, key, among)
    return order[np.searchsorted(keys, _combined(uses, key, rows, before)) - 1]


def _sorted(uses: _Uses, key: I64, rows: I64) -> tuple[I64, I64]:
    keys = _combined(uses, key, rows, rows)
    order = np.argsort(keys)
    return keys[order], rows[order]


def _combined(uses: _Uses, key: I64, rows: I64, times: I64) -> I64:
    """One number for (key, position)."""
    return (key[rows] << PLACE) | uses.position[times]


def _finding(facts: Facts, uses: _Uses, row: int, overlaps: I64, overwritten: I64) -> Finding:
    name, label = facts.kernels.name(row), facts.objects.label(row)
    threads = len(np.unique(uses.tid[uses.kernel_row == row]))
    pair = overwritten[0] if len(overwritten) else overlaps[0]
    sites = sites_of(facts, uses.position[pair])
    message = f"Kernel {name} ({label}) was used by {threads} threads at the same time: " + (
        f"thread {sites[0].tid} set argument {sites[0].argument} (call {sites[0].number}), thread {sites[1].tid} set "
        f"it again (call {sites[1].number}), and the first launched with that value (call {sites[2].number})."
        if len(overwritten)
        else f"thread {sites[0].tid} was still in {sites[0].call} (call {sites[0].number}) when thread {sites[1].tid} "
        f"entered {sites[1].call} (call {sites[1].number})."
    )
    return Finding(
        id=ID,
        severity="error",
        message=message,
        site=sites[-1],
        others=sites[:-1],
        causes=(ID,),
        evidence=(*_replaced(uses, overwritten), *_at_once(uses, overlaps)),
        count=len(overlaps) + len(overwritten),
        facts=(("kernel", name),),
        ties=(label,),
    )


def _replaced(uses: _Uses, overwritten: I64) -> Iterator[Evidence]:
    for own, other, launch in overwritten[:SHOWN]:
        calls = tuple(int(uses.position[i]) + 1 for i in (own, other, launch))
        yield Evidence(
            f"argument {uses.index[own]}: set by thread {uses.tid[own]}, set again by thread {uses.tid[other]}, then "
            f"launched by thread {uses.tid[own]}",
            calls,
        )
    if len(overwritten) > SHOWN:
        yield Evidence(f"the same happened to {plural(len(overwritten) - SHOWN, 'other setting')}")


def _at_once(uses: _Uses, overlaps: I64) -> Iterator[Evidence]:
    threads = [tuple(sorted((int(uses.tid[first]), int(uses.tid[second])))) for first, second in overlaps]
    for one, other in list(dict.fromkeys(threads))[:SHOWN]:
        first, second = overlaps[threads.index((one, other))]
        count = threads.count((one, other))
        often = f", {count:,} times" if count > 1 else ""
        calls = tuple(int(uses.position[i]) + 1 for i in (first, second))
        yield Evidence(f"threads {one} and {other} were inside calls on it at the same time{often}", calls)
    if len(left := dict.fromkeys(threads)) > SHOWN:
        yield Evidence(f"and so were {plural(len(left) - SHOWN, 'other pair')} of threads")
