"""A launch, copy or argument names an object that belongs to a different context than its queue or kernel.

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
    title="An object belongs to a different context than the call that uses it",
    refutes_if="The object was created in the context of the queue.",
    fix=("Create the object in the context of the queue that uses it, or use a queue of the object's context.",),
    predicts=(("recorded", "the object and the queue were made in different contexts"),),
    kind=FIXED,
)

SHOWN = 4
MOST_REFUSED = 64  # calls that are looked at


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
    seen = set()
    for part in groups(rows, table["object"][rows]):
        use = table[part[0]]
        seen.add(int(use["object"]))
        yield _finding(facts, int(use["position"]), int(use["object"]), int(use["argument"]), int(queue[part[0]]), len(part))
    for position, obj, context in _named_by_refused(facts, contexts):
        if obj not in seen:
            seen.add(obj)
            yield _finding(facts, position, obj, -1, context, 1)


def _named_by_refused(facts: Facts, contexts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Iterator[tuple[int, int, int]]:
    """Calls that failed, with an object that they name and that is of another context than their queue: (position, object, context)."""
    table = facts.objects.table
    for position in map(int, facts.errors.own[:MOST_REFUSED]):
        context = int(_queue_context(facts, np.array([position]))[0])
        if context not in contexts:
            continue
        handles = np.array([value for name, value in facts.trace.record(position).items() if name != "result"], np.uint64)
        rows = facts.objects.at(handles, np.full(len(handles), position, np.int64))
        foreign = [int(row) for row in rows if row >= 0 and table["owner"][row] in contexts and table["owner"][row] != context]
        yield from ((position, row, context) for row in foreign)


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


def _finding(facts: Facts, position: int, obj: int, index: int, context: int, count: int) -> Finding:
    argument = index if index >= 0 else None
    site = facts.sites.at(position, argument=argument)
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
        others=_refused(facts, obj, position),
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("kernel", site.kernel or ""), ("argument", str(argument))),
    )
