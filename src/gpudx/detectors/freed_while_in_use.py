"""Memory was freed while work that uses it might still have been running.

Freeing does not always wait. Memory from a stream's pool returns to the pool when that stream reaches the free, and the next
allocation gets it at once; unordered work in another stream continues to read and write memory that belongs to someone else by
then. An immediate free of such memory does not wait at all. Nothing fails; the data is wrong now and then.

Example:

    cudaMallocAsync(&scratch, bytes, first);
    cudaEventRecord(ready, first);
    cudaStreamWaitEvent(second, ready);
    use<<<grid, block, 0, second>>>(scratch);
    cudaFreeAsync(scratch, first);                  // `first` knows nothing of the kernel in `second`

Fix it by freeing in the stream of the last use, or by letting the freeing stream wait for an event recorded after that use.

Reported for cuMemFreeAsync if nothing orders a use before it; for cuMemFree of memory from cuMemAllocAsync, for which it "will
not perform any implicit synchronization" (CUDA driver API reference, cuMemFree); and for clSVMFree, which does not wait either
(OpenCL 3.0 API specification, clSVMFree). It is a warning if the address was found inside a structure, or if a kernel uses host
memory that is freed or unregistered: the driver may wait there, but no specification says so.

Not reported: cuMemFree of other memory, which "may perform implicit synchronization" (same place); clReleaseMemObject, which takes
effect when the commands that use the buffer are done (OpenCL 3.0 API specification, clReleaseMemObject).

Not seen in a plain run: pools inside a program. PyTorch keeps the driver's memory, so a tensor that is freed while another stream
still uses it (a missing record_stream) never reaches a free of the driver. In runs with fences (`--fence`) each tensor is an
allocation of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument, sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import FAMILIES, HOST_FAMILIES, KINDS, NEVER
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import LIFETIME, MENDED
from gpudx.text import capital

ID = "freed-while-in-use"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="Memory was freed while work that uses it might still have been running",
    refutes_if="The fault remains with a wait for the whole device right before the free.",
    fix=(
        "Free in the queue of the last use, or let the freeing queue wait for an event recorded after that use.",
        "If the free is immediate, wait for the work first.",
    ),
    predicts=(("recorded", "nothing orders the last use of the memory before its free"),),
    kind=LIFETIME,
    apart=MENDED,
)
I64 = NDArray[np.int64]
POOLED = FAMILIES.index("async")
HOST = [FAMILIES.index(family) for family in HOST_FAMILIES]
SHARED = KINDS.index("svm")


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per place that frees and place that uses; repeats are counted."""
    if not _unwaited(facts).any():
        return
    table, rows = uses(facts), _open_uses(facts)
    callers = facts.trace.column("caller")
    died = facts.objects.table["died"][table["object"][rows]]
    used = table["position"][rows]
    for part in groups(rows, callers[used].view(np.int64), callers[died].view(np.int64), table["inside"][rows]):
        yield _finding(facts, int(part[-1]), len(np.unique(table["position"][part])))


def _unwaited(facts: Facts) -> NDArray[np.bool_]:
    """Which objects were freed by a call that does not wait, or need not."""
    table = facts.objects.table
    at_once = (table["family"] == POOLED) | (table["kind"] == SHARED) | np.isin(table["family"], HOST)
    freed: NDArray[np.bool_] = (table["died"] < NEVER) & (table["later"] | at_once)
    return freed


def _open_uses(facts: Facts) -> I64:
    """The uses that were not known to be over when their memory was freed. Copies of host memory are looked at elsewhere."""
    table, objects = uses(facts), facts.objects.table
    rows = np.flatnonzero(_unwaited(facts)[table["object"]])
    sure = (table["argument"][rows] >= 0) & ~table["inside"][rows]
    rows = rows[sure | ~np.isin(objects["family"][table["object"][rows]], HOST)]
    work = facts.happens.op_at(table["position"][rows])
    rows, work = rows[work >= 0], work[work >= 0]
    return rows[~_over(facts, work, objects["died"][table["object"][rows]], objects["later"][table["object"][rows]])]


def _over(facts: Facts, work: I64, died: I64, later: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Was the work over when the queue reached the free, or when the host made it; or is that not known?"""
    free = facts.happens.op_at(died)
    over = facts.happens.ops["position"][work] > died if len(work) else np.zeros(0, bool)
    ask = np.flatnonzero(~over & later & (free >= 0))
    over[ask] = facts.happens.ordered(work[ask], free[ask])
    ask = np.flatnonzero(~over & ~later)
    over[ask] = facts.happens.done_before_host(work[ask], died[ask])
    return over | (later & (free < 0))


def freed_under(facts: Facts, position: int, obj: int) -> int | None:
    """The call that freed an object while the work at `position`, which uses it, was not known to be over; None if none did."""
    if obj < 0 or not _unwaited(facts)[obj]:
        return None
    died, work = facts.objects.table["died"][obj : obj + 1], facts.happens.op_at(np.array([position]))
    if work[0] < 0 or _over(facts, work, died, facts.objects.table["later"][obj : obj + 1])[0]:
        return None
    return int(died[0])


def order_wanted(facts: Facts, position: int, died: int) -> str:
    """What would order the work at `position` before the call that freed its memory."""
    site, free = sites_of(facts, [position, died])
    return _mend(facts, site, free, bool((facts.objects.table["later"] & (facts.objects.table["died"] == died)).any()))


def _finding(facts: Facts, row: int, count: int) -> Finding:
    use, table = uses(facts)[row], facts.objects.table
    obj = int(use["object"])
    died, later = int(table["died"][obj]), bool(table["later"][obj])
    site, free = sites_of(facts, [int(use["position"]), died])
    label, what = facts.objects.label(obj), f"kernel {site.kernel}" if site.kernel else site.call
    doubt = bool(use["inside"]) or int(table["family"][obj]) in HOST
    return Finding(
        id=ID,
        severity="warning" if doubt else "error",
        message=(
            f"{capital(label)} was freed ({free.call}, call {free.number}) while {what} (call {site.number}) may still have "
            f"been using it, and nothing orders the two: {_mend(facts, site, free, later)}."
        ),
        evidence=(
            Evidence(f"{what} was passed {facts.memory.describe(obj)}{_place(facts, use)}", (site.number,)),
            Evidence(_why(facts, use, died, later, free), (site.number, free.number)),
        ),
        site=free,
        others=(site,),
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("free", free.call), ("use", site.call), ("kernel", site.kernel or "")),
        pair=facts.nth.pair(int(use["position"]), died) if later else None,
        steps=() if later else (f"Wait until {what} (call {site.number}) is complete before {free.call} (call {free.number}).",),
    )


def _place(facts: Facts, use: np.void) -> str:
    launch = facts.launches.at_position(int(use["position"]))
    if launch is None or use["argument"] < 0:
        return ""
    name = argument(facts, int(facts.launches.kernel_row[launch]), int(use["argument"]))
    return f" inside {name}" if use["inside"] else f" as {name}"


def _why(facts: Facts, use: np.void, died: int, later: bool, free: Site) -> str:
    happens, work = facts.happens, int(facts.happens.op_at(use["position"].reshape(1))[0])
    queue = happens.queues.label(int(happens.ops["queue"][work]))
    if not later:
        return f"nothing had waited for {queue} by then, and {free.call} does not promise to"
    other = happens.queues.label(int(happens.ops["queue"][int(happens.op_at(np.array([died]))[0])]))
    return f"the use is in {queue}, the free in {other}, and no event or wait leads from one to the other"


def _mend(facts: Facts, site: Site, free: Site, later: bool) -> str:
    work, end = facts.happens.op_at(np.array([site.number - 1, free.number - 1]))
    return facts.happens.missing_edge(int(work), int(end)).text if later else "wait for the work first"
