"""A memory object was released while it was set on a kernel, and the kernel was then launched.

Setting an argument takes no reference: the kernel object holds a bare address (OpenCL specification, clSetKernelArg). After the
last release the driver may free the memory or give it to the next buffer, and the launch reads or writes whatever is there now.
No known driver reports it; results change when something unrelated is allocated.

Example:

    clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer);
    clReleaseMemObject(buffer);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL);

Fix it by releasing the object after the last launch that uses it (releasing it right after that launch is fine: the
queue holds it until the launch is done), or by setting the argument again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._memory_arguments import is_memory
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import listed

ID = "released-while-bound"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="A buffer was released while a kernel still held it, and the kernel was launched",
    refutes_if=("The argument was set again between the release and the launch, or a reference was left."),
    fix=(
        (
            "Release the buffer after the last launch that uses it has completed, or set the argument to another "
            "buffer before launching."
        ),
    ),
    predicts=(("recorded", "a launch follows the release without a new setting of the argument"),),
    kind=LIFETIME,
)
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
COMPLETES = ("wait", "copy", "map")  # work that came before is done when these return
MOST_AFTER = 64
DIED = "The launch used memory that the program had released, and the process died before anything after it completed."
SHOWN = 3  # other arguments of the launch that were released, too
PLACE = np.uint64(36)  # bits of a position; native/opencl/arguments.c keeps fewer than 64 arguments


@dataclass(frozen=True)
class _Bound:
    """Memory arguments of launches as columns: rows of `arguments`, when each was set (-1: not known), its object."""

    row: I64
    set_at: I64
    object: I64


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel argument; repeats are counted."""
    bound = _stale(facts)
    args, launches = facts.launches.arguments, facts.launches
    rows = np.arange(len(bound.row))
    functions = facts.kernels.functions(launches.kernel_row[args.launch[bound.row]])
    for part in groups(rows, functions, args.index[bound.row]):
        yield _finding(facts, bound, int(part[0]), len(part))


def _stale(facts: Facts) -> _Bound:
    """Arguments that name an object which died after it was set and before the launch."""
    args, launches, objects = facts.launches.arguments, facts.launches, facts.objects
    declared = launches.declared
    kernel_rows = launches.kernel_row[args.launch]
    memory = declared.get("memory", kernel_rows, args.index) | ~declared.get("known", kernel_rows, args.index)
    rows = np.flatnonzero((args.size == 8) & (args.value != 0) & memory)
    now = objects.at(args.value[rows], launches.position[args.launch[rows]])
    keep = is_memory(facts, now) & (_lives(facts)[now] | (args.object[rows] < 0))
    rows, now = rows[keep], now[keep]
    set_at = _set_at(facts, rows)
    then = np.where(set_at >= 0, objects.at(args.value[rows], set_at), now)
    gone = (then >= 0) & (objects.table["gone"][then] < launches.position[args.launch[rows]])
    gone &= objects.table["gone"][then] > set_at  # what was dead already when it was set has a detector of its own
    gone[gone] = ~_of_other_threads(facts, rows[gone], set_at[gone])
    return _Bound(rows[gone], set_at[gone], then[gone])


def _of_other_threads(facts: Facts, rows: I64, set_at: I64) -> NDArray[np.bool_]:
    """Which launches got a value that another thread set, although their own thread sets this argument too? They were meant to have
    their own: that the threads share the kernel object is the fault, and the release belongs to the other thread's value."""
    args, launches, sets = facts.launches.arguments, facts.launches, facts.set_args
    own = launches.tid[args.launch[rows]].astype(np.int64)
    foreign = (set_at >= 0) & (facts.trace.column("tid", set_at.clip(0)) != own)
    slots = launches.kernel_row[args.launch[rows]] * 64 + args.index[rows].astype(np.int64)
    known = set(zip((sets.kernel_row * 64 + sets.index).tolist(), sets.tid.tolist(), strict=True)) if foreign.any() else set()
    sets_it = [pair in known for pair in zip(slots.tolist(), own.tolist(), strict=True)]
    return foreign & np.array(sets_it, bool)


def _lives(facts: Facts) -> NDArray[np.bool_]:
    """Objects whose handle had another life before: a launch with such a handle may have been meant for that one."""
    _, inverse, counts = np.unique(facts.objects.table["handle"], return_inverse=True, return_counts=True)
    return np.append(counts[inverse] > 1, False)


def _set_at(facts: Facts, rows: I64) -> I64:
    """Position of the last setting of each argument before its launch; -1 when the record no longer has it."""
    args, launches, sets = facts.launches.arguments, facts.launches, facts.set_args
    kernels = np.unique(launches.kernel_row[args.launch[rows]])
    of_interest = np.flatnonzero(np.isin(sets.kernel_row, kernels) & (sets.index < 64))
    keys = np.sort(_keys(sets.kernel_row[of_interest], sets.index[of_interest], sets.position[of_interest]))
    wanted = _keys(
        launches.kernel_row[args.launch[rows]], args.index[rows].astype(np.int64), launches.position[args.launch[rows]]
    )
    if not len(keys):
        return np.full(len(rows), -1, np.int64)
    at = np.searchsorted(keys, wanted) - 1
    found = keys[np.maximum(at, 0)]
    same = (at >= 0) & (found >> PLACE == wanted >> PLACE)
    return np.where(same, (found & np.uint64((1 << 36) - 1)).astype(np.int64), -1)


def _keys(kernel_row: I64, index: I64, position: I64) -> U64:
    return ((kernel_row * 64 + index).astype(np.uint64) << PLACE) | position.astype(np.uint64)


def _finding(facts: Facts, bound: _Bound, at: int, count: int) -> Finding:
    args, launches, objects = facts.launches.arguments, facts.launches, facts.objects
    row, obj, set_at = int(bound.row[at]), int(bound.object[at]), int(bound.set_at[at])
    launch, index = int(args.launch[row]), int(args.index[row])
    label, died = objects.label(obj), int(objects.table["died"][obj])
    site = facts.sites.at(int(launches.position[launch]), argument=index, value=int(args.value[row]))
    what = argument(facts, int(launches.kernel_row[launch]), index)
    release = site_of(facts, died)
    since = f"set in call {set_at + 1}, " if set_at >= 0 else ""
    line = f" at {release.source.rpartition('/')[2]}" if release.source else ""
    message = (
        f"Kernel {site.kernel} was launched with {label} as {what}, which the program had released "
        f"({since}released in call {died + 1}{line}, launched in call {site.number})."
    )
    evidence = [
        Evidence(f"{release.call} dropped the last reference to {label}", (died + 1,)),
        Evidence(f"the launch still had its handle {site.value} as {what}", (site.number,)),
    ]
    if others := [int(args.index[one]) for one in bound.row if args.launch[one] == launch and args.index[one] != index]:
        named = [argument(facts, int(launches.kernel_row[launch]), one) for one in sorted(set(others))[:SHOWN]]
        whose = "buffer of" if len(named) == 1 else "buffers of"
        evidence.insert(0, Evidence(f"the {whose} {listed(named)} of this launch had been released, too", (site.number,)))
    if set_at >= 0:
        evidence.insert(0, Evidence(f"{what} was set to {label} and not set again before the launch", (set_at + 1,)))
    return Finding(
        id=ID,
        severity="error",
        message=message,
        evidence=tuple(evidence),
        site=site,
        count=count,
        allocation=allocation_of(facts, obj, "released"),
        others=(release, *((site_of(facts, set_at),) if set_at >= 0 else ())),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
        certainty="observed" if _died_of_it(facts, site.number - 1) else "recorded",
        because=DIED,
        root=release,
    )


def _died_of_it(facts: Facts, position: int) -> bool:
    """Did the process die before anything could complete that came after the launch?"""
    if facts.trace.ended:
        return False
    later = np.arange(position + 1, len(facts.trace))
    done = later[facts.trace.column("end", later) != 0]
    return len(done) <= MOST_AFTER and not any(facts.trace.info(int(one)).does in COMPLETES for one in done)
