"""A launch, copy or argument names an object of another context than its queue's or kernel's.

Some drivers refuse it at once, others run it and fail later, or work on memory that is not there.

Example:

    cl_mem x = clCreateBuffer(other_context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    clSetKernelArg(kernel, 0, sizeof x, &x);                     // the kernel's program belongs to `context`

Fix it by creating the object in the context of the queue that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import KINDS
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED

ID = "wrong-context-handle"
CAUSE = Cause(
    id=ID,
    title="An object belongs to another context than the call that uses it",
    refutes_if="The object would have been created in the context of the queue.",
    fix=("Create the object in the context of the queue that uses it, or use a queue of the object's context.",),
    predicts=(("recorded", "the object and the queue were made in different contexts"),),
    kind=FIXED,
)

SHOWN = 4


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per object; the first call that uses it with a foreign queue, and how many do."""
    contexts = facts.objects.rows_of("context")
    if len(contexts) < 2:
        return
    table, objects = uses(facts), facts.objects.table
    owner = np.append(objects["owner"], -1)[table["object"]]
    queue = _queue_context(facts, table["position"])
    kinds = np.isin(owner, contexts) & np.isin(queue, contexts)
    rows = np.flatnonzero(kinds & (owner != queue))
    for part in groups(rows, table["object"][rows]):
        yield _finding(facts, run, table[part[0]], int(queue[part[0]]), len(part))


def _queue_context(facts: Facts, positions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The context that the queue of each call belongs to, a row of objects; -1 where that is not known."""
    trace, objects = facts.trace, facts.objects
    named = np.array([c.word("queue") == 0 for c in trace.schema.calls])
    handles = np.where(named[trace.call[positions]], trace.words(positions, 0), 0).astype(np.uint64)
    rows = objects.at(handles, positions)
    is_queue = np.append(objects.table["kind"] == KINDS.index("queue"), False)[rows]
    return np.where(is_queue, np.append(objects.table["owner"], -1)[rows], -1)


def _refused(facts: Facts, obj: int, after: int) -> tuple[Site, ...]:
    """Calls that name the object and were refused: with it in the wrong context they had to be."""
    handle, found = int(facts.objects.table["handle"][obj]), []
    for position in map(int, facts.errors.own):
        named = {value for name, value in facts.trace.record(position).items() if name != "result"}
        if position >= after and handle in named:
            found.append(facts.sites.at(position))
    return tuple(found[:SHOWN])


def _finding(facts: Facts, run: Run, use: np.void, context: int, count: int) -> Finding:
    argument = int(use["argument"]) if use["argument"] >= 0 else None
    site, obj = facts.sites.at(int(use["position"]), argument=argument), int(use["object"])
    label, own = facts.objects.label(obj), int(facts.objects.table["owner"][obj])
    of = f" of kernel {site.kernel}" if site.kernel else ""
    born = int(facts.objects.table["born"][obj])
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{site.call}{of} (call {site.number}) uses {label}, which belongs to {facts.objects.label(own)}, in a queue of "
            f"{facts.objects.label(context)}."
        ),
        evidence=(
            Evidence(f"call {born + 1} made {label} in {facts.objects.label(own)}", (born + 1,)),
            Evidence(f"the queue of call {site.number} belongs to {facts.objects.label(context)}", (site.number,)),
        ),
        site=site,
        root=facts.sites.at(born),
        others=_refused(facts, obj, int(use["position"])),
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("kernel", site.kernel or ""), ("argument", str(argument))),
    )
