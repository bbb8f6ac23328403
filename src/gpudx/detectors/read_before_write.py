"""A buffer was read before anything had written it.

A new buffer holds whatever its memory held before: zeros on one driver, old data on another, and sometimes the right results of
an earlier run. Nothing wrote it: it was not created from host memory, no copy, fill or mapping wrote it, and no earlier launch
was passed it as an argument that it could have written.

For CUDA and HIP, where kernels use addresses, this is reported only under --poison: then it is known what the memory held, and
that a kernel with a read-only argument was the first to be passed it.

Example:

    cl_mem sums = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, bytes, out, 0, NULL, NULL);    // the launch was forgotten

    cudaMalloc(&weights, bytes);
    scale<<<blocks, 256>>>(out, weights);                         // void scale(float *out, const float *weights)

Fix it by writing or filling the buffer first, or by finding out why the launch that should write it was not made.

Not reported where the read may wait for an event that the program completes after it has asked for a write.

It is only a warning: reading back data that is then discarded is harmless.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._user_events import signals, user_events
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.facts.accesses import MAY, WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.fresh import NEVER, complete_since, first_write, fresh_buffers
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import FAMILIES, KINDS
from gpudx.facts.writers import NEAR, holds
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import UNINITIALISED
from gpudx.text import capital, plural

ID = "read-before-write"
NEEDS_EVERY_CALL = NEEDS_EVERY_WRITE = True
CAUSE = Cause(
    id=ID,
    title="A buffer was read before anything wrote it",
    refutes_if=(
        "A write, a fill, a map for writing or a launch that may write it precedes the read, or no result depends "
        "on what fresh memory holds."
    ),
    fix=("Fill the buffer after creating it (costs one pass over it), or write it before the first read.",),
    predicts=(
        ("recorded", "no write precedes the read"),
        ("poisoned", "what is read holds the pattern; if the program then ends differently, it depends on it"),
    ),
    settled_by="gpudx run with --poison=cb, 4b and zero (an outcome that differs depends on uninitialized memory)",
    settled_of=(("cuda", "gpudx run --sanitize=initcheck"),),
    kind=UNINITIALISED,
)
I64 = NDArray[np.int64]
DEVICE = [FAMILIES.index(name) for name in ("device", "pitched", "async")]  # what the host cannot write by itself


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per reading call (and kernel argument); buffers after the first are counted."""
    table = uses(facts)
    root, position = table["object"], table["position"]
    writes, written = (table["how"] & WRITE) != 0, first_write(facts)
    candidates = fresh_buffers(facts)[root] | (_filled(facts)[root] & (table["argument"] >= 0))
    early = np.flatnonzero(~writes & candidates & (position < written[root]))
    first = early[np.unique(root[early], return_index=True)[1]]  # uses are in order of time
    first = first[[_is_unwritten(facts, int(root[row]), int(position[row])) for row in first]]
    first = first[[not _may_wait(facts, int(position[row]), int(written[root[row]])) for row in first]]
    calls = facts.trace.call[position[first]]
    for part in groups(first, calls, _functions(facts, position[first]), table["argument"][first]):
        yield _finding(facts, table[int(part[0])], len(part))


def _filled(facts: Facts) -> NDArray[np.bool_]:
    """Memory by address that the recorder filled, and whose whole life was kept."""
    table = facts.objects.table
    filled = np.zeros(len(table), bool)
    filled[list(facts.poison.filled)] = True
    filled &= (table["kind"] == KINDS.index("memory")) & np.isin(table["family"], DEVICE)
    return np.asarray(filled & (table["born"] >= complete_since(facts)))


def _is_unwritten(facts: Facts, obj: int, position: int) -> bool:
    """Of memory by address: can no work have written it that was given it otherwise, or that is not recorded?"""
    born = int(facts.objects.table["born"][obj])
    if facts.objects.kind(obj) != "memory":
        return not facts.trace.array(born, "properties")
    first, writers = int(facts.objects.table["handle"][obj]), facts.writers
    end = first + int(facts.objects.table["size"][obj])
    work = writers.between(int(facts.trace.column("end", np.array([born]))[0]), position)
    copied = any(begin < end and last > first for begin, last in work.addresses)
    unseen = bool(work.blind) or writers.mentioned(first, end)
    return not (copied or unseen or holds(work.words, first - NEAR, end))


def _may_wait(facts: Facts, read: int, write: int) -> bool:
    """Was the read only asked for before the write? Where it waits for an event that the program completes after it has asked for the
    write, the write comes first."""
    made, handles = user_events(facts)
    done, signalled = signals(facts)
    late = set(signalled[done > write].tolist()) & set(handles[made < read].tolist()) if write < NEVER else set()
    if not late:
        return False
    ops = facts.happens.op_at(np.array([read, write]))
    return bool((ops < 0).any()) or not bool(facts.happens.ordered(ops[:1], ops[1:])[0])


def _functions(facts: Facts, positions: I64) -> I64:
    """The kernel function of each access, -1 for copies."""
    at = np.searchsorted(facts.launches.position, positions).clip(0, max(len(facts.launches) - 1, 0))
    if not len(facts.launches):
        return np.full(len(positions), -1)
    found = np.where(facts.launches.position[at] == positions, facts.launches.kernel_row[at], -1)
    return facts.kernels.functions(found)


def _finding(facts: Facts, use: np.void, count: int) -> Finding:
    obj, position, index = int(use["object"]), int(use["position"]), int(use["argument"])
    born = int(facts.objects.table["born"][obj])
    label = facts.objects.label(obj)
    site = facts.sites.at(position, argument=index) if index >= 0 else site_of(facts, position)
    launch = facts.launches.at_position(position)
    return Finding(
        id=ID,
        severity="warning",
        message=_message(facts, use, site, capital(label)),
        site=site,
        evidence=(
            Evidence(f"call {born + 1} made {label} without content", (born + 1,)),
            Evidence(f"no copy, fill, map or launch before call {position + 1} could have written it", (position + 1,)),
            *_poisoned(facts, obj, position, launch),
        ),
        others=(site_of(facts, born),),
        allocation=allocation_of(facts, obj),
        count=count,
        causes=(ID,),
        facts=(("call", site.call), ("kernel", site.kernel or ""), ("argument", str(index))),
    )


def _message(facts: Facts, use: np.void, site: Site, label: str) -> str:
    launch = facts.launches.at_position(int(use["position"]))
    if launch is None or not use["how"] & MAY:
        return f"{label} was read by {site.call} before anything had written it."
    what = argument(facts, int(facts.launches.kernel_row[launch]), int(use["argument"]))
    return f"{label} was passed to kernel {site.kernel} as {what}, which is read only, before anything had written it."


def _poisoned(facts: Facts, obj: int, position: int, launch: int | None) -> Iterator[Evidence]:
    """In a poisoned run: what it held, and whether that turned up in what the launch that read it may have written."""
    if obj not in facts.poison.filled:
        return
    yield Evidence(f"the recorder had filled it with {facts.poison.pattern:#x}, so that is what was read")
    if launch is None:
        return
    args = facts.launches.arguments
    given = set(args.object[args.launch == launch].tolist()) - {obj}
    later = [one for one in facts.poison.back if one.position > position and one.row in given]
    for one in later[:1]:
        words = f"{plural(one.words, 'word')} of the pattern came back from {facts.objects.label(one.row)}"
        yield Evidence(f"{words}, which the same launch was passed", (one.position + 1,))
