"""Work used memory of a stream's pool that its stream might not have allocated yet.

cuMemAllocAsync returns the address at once, but the memory belongs to the program only when the stream reaches the allocation:
until then its previous owners may still use it (CUDA driver API reference, cuMemAllocAsync). Work in another stream has to wait
for that. If it does not, it reads and writes memory that still belongs to someone else; nothing fails, and the data is wrong
now and then.

Example:

    cudaMallocAsync(&scratch, bytes, first);
    use<<<grid, block, 0, second>>>(scratch);       // `second` knows nothing of the allocation in `first`

Fix it by recording an event in the allocating stream after the allocation, and letting the other stream wait for it; or by
allocating in the stream that uses the memory.

It is a warning if the address was found inside a structure: it may be a member that the kernel does not use.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses, work
from gpudx.facts.objects import FAMILIES
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import capital

ID = "use-before-allocation"
CAUSE = Cause(
    id=ID,
    title="Work used memory of a queue's pool that the queue might not have allocated yet",
    refutes_if="The data is still wrong with a wait for the allocating queue right after the allocation.",
    fix=(
        "Let the using queue wait for an event that is recorded after the allocation.",
        "Allocate in the queue that uses the memory.",
    ),
    predicts=(("recorded", "nothing orders the allocation before the first use"),),
    kind=LIFETIME,
)
I64 = NDArray[np.int64]
POOLED = FAMILIES.index("async")


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per place that allocates and place that uses; repeats are counted."""
    if not (facts.objects.table["family"] == POOLED).any():
        return
    table, rows, callers = uses(facts), _early(facts), facts.trace.column("caller").view(np.int64)
    born = facts.objects.table["born"][table["object"][rows]]
    for part in groups(rows, callers[table["position"][rows]], callers[born], table["inside"][rows]):
        yield _finding(facts, int(part[0]), len(np.unique(table["position"][part])))


def _early(facts: Facts) -> I64:
    """The uses that nothing orders after the allocation of their memory."""
    table, objects = uses(facts), facts.objects.table
    rows = np.flatnonzero((objects["family"][table["object"]] == POOLED) & (work(facts) >= 0))
    made = facts.happens.op_at(objects["born"][table["object"][rows]])
    rows, made = rows[made >= 0], made[made >= 0]
    return rows[~facts.happens.ordered(made, work(facts)[rows])]


def _finding(facts: Facts, row: int, count: int) -> Finding:
    use = uses(facts)[row]
    obj = int(use["object"])
    born = int(facts.objects.table["born"][obj])
    site, made = sites_of(facts, [int(use["position"]), born])
    label, what = facts.objects.label(obj), f"kernel {site.kernel}" if site.kernel else site.call
    edge = facts.happens.missing_edge(int(facts.happens.op_at(np.array([born]))[0]), int(work(facts)[row]))
    return Finding(
        id=ID,
        severity="warning" if use["inside"] else "error",
        message=(
            f"{capital(what)} (call {site.number}) may use {label} before {edge.first_queue} has allocated it "
            f"({made.call}, call {made.number}): {edge.text}."
        ),
        evidence=(
            Evidence(f"{made.call} allocated {facts.memory.describe(obj)} in {edge.first_queue}", (made.number,)),
            Evidence(f"the use is in {edge.second_queue}, and no event or wait leads there", (site.number,)),
        ),
        site=site,
        others=(made,),
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("made", made.call), ("use", site.call), ("kernel", site.kernel or "")),
    )
