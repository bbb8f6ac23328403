"""The process died at an address of host memory that was passed to a transfer or to a buffer, and is no longer mapped.

A buffer made with CL_MEM_USE_HOST_PTR works on the program's own memory, and a non-blocking transfer reads or writes it later:
the memory must stay until the buffer is released, or the transfer is complete. A destination that is too small ends in the same
way.

Example:

    cl_mem x = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, bytes, host, &status);
    free(host);                                                        // the kernel still reads it
    clEnqueueNDRangeKernel(queue, sum, 1, NULL, &n, NULL, 0, NULL, NULL);

A graph copies from the address that the copy was captured with, each time that it is launched. On AMD's devices memory that is gone by then
is a fault of the device, which a later call reports.

Fix it by keeping the memory until the work that uses it is complete, and by giving transfers memory of their full size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import Interval, interval, while_running
from gpudx.detectors._words import place_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.captured_copies import HostCopy, captured_copies
from gpudx.facts.maps import parse_maps
from gpudx.facts.open_calls import fatal_call
from gpudx.model import Access, Cause, Evidence, Finding
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import plural

ID = "host-memory-gone"
FREED, SMALL, UNDER_COPY = "host-memory-freed-in-use", "host-access-outside-buffer", "host-memory-changed-under-copy"
CAUSE = Cause(
    id=FREED,
    title="Host memory was freed while a buffer or transfer still used it",
    refutes_if="The memory at the fault address is still mapped.",
    fix=("Keep the host memory until the buffer is released and all work that uses it is complete.",),
    predicts=(("recorded", "the program dies at an address of that memory, or works on data that other code put there"),),
    kind=LIFETIME,
)
FATAL = (7, 11)  # SIGBUS, SIGSEGV
LOOKED_AT = 64  # transfers, from the last one on


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    yield from _graph_copy(facts)
    words = facts.trace.last_words
    if words is None or words.signal not in FATAL or words.in_recorder:
        return
    address = words.fault_address or 0
    found = _transfer(facts, address) or (_buffer(facts, address) if address else None)
    if found is not None:
        yield found


def _transfer(facts: Facts, address: int) -> Finding | None:
    """The last transfer that is not known to be complete and whose host memory holds the fault address, or is not all there."""
    for entry in (*_fatal_copy(facts), *(facts.host_copies.table[row] for row in _open_transfers(facts)[:LOOKED_AT])):
        begin, size = int(entry["address"]), int(entry["size"])
        hit = begin <= address < begin + size
        offset = address - begin if hit else _first_unmapped(facts.trace.maps, begin, size)
        if offset is not None:
            return _of_transfer(facts, entry, address, offset, hit)
    return None


def _fatal_copy(facts: Facts) -> Iterator[Mapping[str, int]]:
    """The host's side of the copy that the process died in, where the call was given an address."""
    position = fatal_call(facts)
    for row in facts.ranges.at(position) if position is not None else ():
        side = facts.ranges.table[row]
        if facts.ranges.object[row] < 0 and not side["device"]:
            yield {"position": position or 0, "address": int(side["address"]), "size": int(side["size"]), "blocking": 1}


def _open_transfers(facts: Facts) -> list[int]:
    """Rows of host copies that nothing had waited for when the process died, latest first."""
    table = facts.host_copies.table
    copies = facts.happens.op_at(table["position"])
    last = np.full(len(table), len(facts.trace) - 1)
    done = (copies >= 0) & facts.happens.done_before_host(copies.clip(0), last) if len(table) else np.zeros(0, bool)
    returned = table["blocking"] & (facts.trace.column("end", table["position"]) != 0)
    return [int(row) for row in np.flatnonzero(~done & ~returned)[::-1]]


def _first_unmapped(maps: str, begin: int, size: int) -> int | None:
    """How many bytes of a range were mapped; None: all of them, or nobody knows."""
    at = begin
    for mapping in parse_maps(maps):
        if mapping.start <= at < mapping.end and "r" in mapping.access:
            at = mapping.end
    return at - begin if size and at < begin + size and maps else None


def _of_transfer(facts: Facts, entry: np.void | Mapping[str, int], address: int, offset: int, hit: bool) -> Finding:
    site = facts.sites.at(int(entry["position"]))
    early = not entry["blocking"] and fatal_call(facts) != int(entry["position"])
    size = plural(int(entry["size"]), "byte")
    why = (
        "the call returns before the transfer is complete, and the memory was freed or unmapped by then"
        if early
        else "the memory is smaller than that, or was freed before"
    )
    seen = (
        f"the process died at {address:#x}, which is byte {offset:,} of the host memory of this call"
        if hit
        else f"when the process died, the transfer was not complete, and {int(entry['address']) + offset:#x} was not mapped"
    )
    return Finding(
        id=ID,
        severity="error",
        message=f"{site.call} (call {site.number}) was passed {size} of host memory, of which byte {offset:,} is not mapped: {why}.",
        evidence=(Evidence(seen, (site.number,)),),
        site=site,
        causes=(UNDER_COPY if early else SMALL,),
        steps=() if early else (f"Allocate {size} of host memory for this transfer and keep it until then, or transfer less.",),
        facts=(("call", site.call), ("early", str(early))),
        certainty="observed",
        because="The transfer was running when the process died, and not all of its host memory is mapped.",
        access=Access(address=address if hit else None, by="driver", seen_by="signal"),
    )


def _graph_copy(facts: Facts) -> Iterator[Finding]:
    """A fault of the device that only one graph can have made, with a copy whose host memory was gone when the fault was reported."""
    found, notes = interval(facts), facts.trace.named("note_maps_at_fault")
    if found is None or found.suspects or len(set(_graphs(facts, found))) != 1 or not len(notes):
        return
    launch, maps = found.graphs[0], facts.trace.text(int(notes[0]))
    for copy in captured_copies(facts, launch):
        offset = _first_unmapped(maps, copy.address, copy.size)
        if offset is not None:
            yield _of_graph(facts, launch, copy, offset, found.report)
            return


def _graphs(facts: Facts, found: Interval) -> list[int]:
    return [int(facts.trace.record(launch)["graph_exec"]) for launch in found.graphs]


def _of_graph(facts: Facts, launch: int, copy: HostCopy, offset: int, report: int) -> Finding:
    site, made = facts.sites.at(launch), facts.sites.at(copy.position)
    size = plural(copy.size, "byte")
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"The graph that {site.call} (call {site.number}{place_of(site)}) launched copies {size} of host memory, captured with "
            f"{made.call} (call {made.number}{place_of(made)}), and that memory is not mapped any more: it was freed or moved after the "
            "capture."
        ),
        evidence=(
            Evidence(f"byte {offset:,} of the host memory at {copy.address:#x} was not mapped when the fault was reported", (made.number,)),
            while_running(report),
            Evidence("a graph uses the addresses that it was captured with at each launch", (site.number,)),
        ),
        site=site,
        others=(made,),
        causes=(FREED,),
        steps=(
            "Keep the memory where it is for as long as the graph is launched: a vector that grows, or goes out of scope, frees it.",
            "Or give the copy's node the new address before each launch.",
        ),
        facts=(("call", made.call), ("graph", "host")),
        certainty="observed",
        because="Only this graph was running when the device reported a fault, and the host memory that it copies was gone by then.",
        root=made,
    )


def _buffer(facts: Facts, address: int) -> Finding | None:
    """A live buffer on the program's own memory, and the last launch or copy that was given it."""
    table = facts.objects.table
    mine = facts.objects.on_host & (table["host_ptr"] <= address)
    rows = np.flatnonzero(mine & (np.uint64(address) - table["host_ptr"] < table["size"]))
    rows = rows[[facts.objects.state(int(row), len(facts.trace) - 1) == "live" for row in rows]]
    if not len(rows):
        return None
    row = int(rows[-1])
    args = facts.launches.arguments
    given = np.flatnonzero(args.object == row)
    if not len(given):
        return None
    last = given[-1]
    site = facts.sites.at(int(facts.launches.position[args.launch[last]]), argument=int(args.index[last]))
    label, offset, born = facts.objects.label(row), address - int(table["host_ptr"][row]), int(table["born"][row])
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) used {label}, argument {site.argument}, whose host memory was freed: byte "
            f"{offset:,} of it is no longer mapped."
        ),
        evidence=(
            Evidence(f"call {born + 1} made {label} on the program's own memory at {int(table['host_ptr'][row]):#x}", (born + 1,)),
            Evidence(f"the process died at {address:#x}, which is byte {offset:,} of that memory", (site.number,)),
        ),
        site=site,
        allocation=allocation_of(facts, row, "live"),
        causes=(FREED,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(site.argument))),
        certainty="observed",
        because="The process died at an address in this buffer, whose host memory had been freed.",
        access=Access(address=address, by="kernel", kernel=site.kernel or "", offset=offset, seen_by="signal"),
        root=facts.sites.at(born),
    )
