"""The host changed memory that a kernel might still be reading.

A buffer on the program's own memory, a mapped buffer after its unmap, and shared virtual memory belong to the kernel from the
launch until it is complete. The kernel may or may not see what the host writes there meanwhile.

Example:

    cl_mem x = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, bytes, samples, &status);
    clEnqueueNDRangeKernel(queue, average, 1, NULL, &n, NULL, 0, NULL, NULL);
    samples[0] = 99;                                             // the kernel may not have read it yet
    clFinish(queue);

Fix it by waiting for the kernel, or by mapping the buffer, before the host writes.

Seen only in runs in which the recorder compares such memory (`gpudx investigate`: host-memory), and reported only if no kernel
and no copy can have written it. If the buffer was mapped for writing when the launch was enqueued, the cause is buffer-used-while-mapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpudx.detectors import Run, buffer_used_while_mapped
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.notes import call_before
from gpudx.model import Access, Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import plural

ID = "host-access-during-kernel"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="The host changed memory that a kernel might still be reading",
    refutes_if="The kernel was complete, and known to be, before the host wrote.",
    fix=("Wait for the kernel before the host writes to memory that it uses, or map the buffer for writing.",),
    predicts=(("host-memory", "the memory differs between the launch and the next wait"),),
    kind=LIFETIME,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per memory."""
    told: set[int] = set()
    for at in map(int, facts.trace.named("note_source_changed")):
        record = facts.trace.record(at)
        obj = _memory(facts, record["address"], record["size"], at)
        launch = _last_launch(facts, obj, at) if obj >= 0 else None
        if launch is None or obj in told or not _only_host_writes(facts, obj, launch, at):
            continue
        told.add(obj)
        found = _finding(facts, obj, launch, _wait_after(facts, at))
        mapped = buffer_used_while_mapped.mapped_for_writing(facts, obj, int(launch["position"]))
        yield found if mapped is None else _of_mapped(facts, found, obj, mapped)


def _memory(facts: Facts, address: int, size: int, at: int) -> int:
    """The buffer or shared memory that this host memory lies behind, a row of objects; -1: none."""
    table = facts.objects.table
    live = (table["born"] < at) & (table["gone"] >= at) & (table["size"] == size)
    behind = np.flatnonzero(live & (table["host_ptr"] == address))
    shared = np.intersect1d(np.flatnonzero(live & (table["handle"] == address)), facts.objects.rows_of("svm"))
    found = np.append(behind, shared)
    return int(found[-1]) if len(found) else _mapped(facts, address, at)


def _mapped(facts: Facts, address: int, at: int) -> int:
    trace = facts.trace
    for info in trace.schema.doing("map"):
        if info.word("result") is None or "@" not in info.maps:
            continue
        positions = trace.select(info)
        mine = positions[(positions < at) & (trace.field(info, "result", positions) == np.uint64(address))]
        if len(mine):
            handle = trace.field(info, info.maps.partition("@")[0], mine[-1:])
            return int(facts.objects.at(handle.astype(np.uint64), mine[-1:])[0])
    return -1


def _last_launch(facts: Facts, obj: int, at: int) -> np.void | None:
    table = uses(facts)
    mine = table[(table["object"] == obj) & (table["argument"] >= 0) & (table["position"] < at)]
    return mine[-1] if len(mine) else None


def _only_host_writes(facts: Facts, obj: int, launch: np.void, at: int) -> bool:
    """Is it certain that neither a kernel nor a copy wrote it, and was nothing asked about the launch's event since?"""
    table, trace = uses(facts), facts.trace
    mine = table[(table["object"] == obj) & (table["position"] < at) & ((table["how"] & WRITE) != 0)]
    if any(_may_write(facts, use) for use in mine if trace.info(int(use["position"])).does not in ("map", "unmap")):
        return False
    asked = np.array([c.does in ("query", "callback") and "event" in dict(c.fields) for c in trace.schema.calls])
    between = np.arange(int(launch["position"]) + 1, at)
    return not bool(asked[trace.call[between]].any())


def _may_write(facts: Facts, use: np.void) -> bool:
    if use["argument"] < 0:
        return True
    row = facts.launches.at_position(int(use["position"]))
    if row is None:
        return True
    kernel, index = int(facts.launches.kernel_row[row]), int(use["argument"])
    info = facts.kernels.info(kernel)
    known = info.args.get(index) if info else None
    return not ((known is not None and known.read_only) or facts.kernels.only_reads(kernel, index))


def _wait_after(facts: Facts, note: int) -> Site | None:
    """The call at whose beginning the difference was seen: the last one of the note's thread."""
    before = call_before(facts, note)
    return facts.sites.at(before) if before >= 0 else None


def _finding(facts: Facts, obj: int, launch: np.void, wait: Site | None) -> Finding:
    site = facts.sites.at(int(launch["position"]), argument=int(launch["argument"]))
    label, size = facts.objects.label(obj), plural(int(facts.objects.table["size"][obj]), "byte")
    until = f" by {wait.call} (call {wait.number})" if wait else ""
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"The host changed the memory of {label} while kernel {site.kernel} (launch {site.launch}, argument {site.argument}) might "
            f"still be reading it."
        ),
        evidence=(
            Evidence(f"the {size} of {label} were compared when the launch was enqueued", (site.number,)),
            Evidence(f"they were different{until}, before anything had waited for the launch", (wait.number,) if wait else ()),
            Evidence("no kernel and no copy can have written them", (site.number,)),
        ),
        site=site,
        others=(wait,) if wait else (),
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(site.argument))),
        certainty="observed",
        because="The memory changed between the launch and the first wait after it, and only the host could have written it.",
        access=Access(kind="write", by="host", seen_by="record"),
    )


def _of_mapped(facts: Facts, found: Finding, obj: int, mapped: int) -> Finding:
    """The host may write what it has mapped: the launch is what comes too early."""
    assert found.site is not None
    first = Evidence(f"call {mapped + 1} mapped {facts.objects.label(obj)} for writing", (mapped + 1,))
    return replace(
        found,
        message=buffer_used_while_mapped.message(facts, found.site, obj, mapped),
        evidence=(first, *found.evidence),
        causes=(buffer_used_while_mapped.ID,),
        steps=buffer_used_while_mapped.CAUSE.fix,
    )
