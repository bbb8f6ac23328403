"""Joins a wave that ROCm's debug agent printed to the launch that it belongs to.

The dump names kernel, instruction, lane and often the address; the trace has the launches with all their arguments and every
allocation. A launch is certain where it alone, of those that may have been running, is of this kernel, or was given the pointer that the
wave's registers hold. Of several, those that were given the memory nearest to the address are more likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpudx.diagnose.accesses import argument_value, cause_of_miss, given, missed_by, missed_memory
from gpudx.diagnose.origins import Traced, in_wave, with_origin
from gpudx.evidence.reading import faults_in
from gpudx.facts import Facts
from gpudx.facts.misses import Miss, explain
from gpudx.facts.running import running_at_fault
from gpudx.model import Access, DeviceFault, Evidence, Finding, Site

ID = "device-fault"
MEMORY = "out-of-bounds-access"
CERTAIN = "The debug agent named the kernel, and no other launch of it could have caused the fault."
PROBABLE = "The debug agent named the kernel; other launches of it may have been running."


def of_waves(path: Path, processes: Sequence[Facts]) -> Iterator[Finding]:
    """One finding for each wave whose kernel was launched. Raises UserError when the file cannot be read."""
    for fault in faults_in(path):
        for facts in processes:
            if found := joined(fault, facts):
                yield replace(found, pid=facts.trace.pid)
                break


def joined(fault: DeviceFault, facts: Facts) -> Finding | None:
    """The fault with its launch in one process; None where its kernel was not launched."""
    rows = _launches(fault, facts)
    return _finding(fault, facts, rows) if rows else None


def _launches(fault: DeviceFault, facts: Facts) -> list[int]:
    """The launches that can have been it, the last first."""
    if not fault.kernel:
        return []
    rows = facts.launches.find(fault.kernel).tolist()
    open_ = set(running_at_fault(facts, len(facts.trace)).tolist())
    rows = [row for row in rows if row in open_] or rows
    pointers = facts.launches.pointers
    fitting = [row for row in rows if any(int(pointers.value[at]) in fault.bases for at in pointers.of(row))]
    return fitting or rows


def _nearest(fault: DeviceFault, facts: Facts, rows: list[int]) -> list[int]:
    """Those that were given the memory that the address is least far from; all, where the address is not known or near nothing."""
    if fault.address is None or len(rows) == 1:
        return rows
    found = [(explain(facts, row, fault.address, writes=bool(fault.writes)), row) for row in rows]
    least = min((miss.distance for miss, _ in found if miss.object >= 0), default=None)
    return [row for miss, row in found if miss.object >= 0 and miss.distance == least] or rows


def _finding(fault: DeviceFault, facts: Facts, rows: Sequence[int]) -> Finding:
    likely = _nearest(fault, facts, list(rows))
    launch = likely[0]
    access = Access(
        address=fault.address,
        kind="" if fault.writes is None else "write" if fault.writes else "read",
        by="kernel",
        width=fault.span if fault.address is not None else None,
        source=fault.line or None,
        seen_by="dump",
    )
    traced = in_wave(fault, facts, launch, access) if len(rows) == 1 else Traced()
    miss = _missed(fault, facts, launch, traced)
    site = facts.sites.at(
        int(facts.launches.position[launch]),
        argument=miss.argument if miss else traced.origin.argument if traced.origin else None,
        value=argument_value(facts, launch, miss),
    )
    seen = with_origin(replace(access, kernel=site.kernel or fault.kernel), traced)
    certain = len(rows) == 1
    return Finding(
        id=ID,
        severity="error",
        message=_message(fault, site, miss, len(likely)),
        evidence=(*_evidence(fault, facts, site, rows, likely), *traced.evidence),
        site=replace(site, source=fault.line or site.source),
        allocation=missed_memory(facts, miss),
        access=missed_by(facts, seen, (miss, fault.address) if miss and fault.address is not None else None),
        causes=(cause_of_miss(miss) if fault.cause == MEMORY else fault.cause or "device-exception",),
        facts=(("kernel", site.kernel or fault.kernel), ("line", fault.line)),
        certainty="observed",
        attribution="this" if certain else "probable",
        because=CERTAIN if certain else PROBABLE,
    )


def _missed(fault: DeviceFault, facts: Facts, launch: int, traced: Traced) -> Miss | None:
    """What the access missed; the pointer that the code went through says whose memory was meant."""
    if fault.address is None:
        return None
    return traced.named(explain(facts, launch, fault.address, writes=bool(fault.writes), through=traced.through))


def _message(fault: DeviceFault, site: Site, miss: Miss | None, alike: int) -> str:
    where = f" at {fault.line}" if fault.line else ""
    which = f"launch {site.launch}, call {site.number}" if alike == 1 else f"one of {alike:,} launches that may have been running"
    name = f"Kernel {site.kernel or fault.kernel} ({which})"
    if miss is None:
        return f"{name} {fault.does}{where}."
    verb = "accessed" if fault.writes is None else "wrote to" if fault.writes else "read from"
    return f"{name} {verb} {fault.address:#x}{where}, {miss.text}."


def _evidence(
    fault: DeviceFault, facts: Facts, site: Site, rows: Sequence[int], likely: Sequence[int]
) -> Iterator[Evidence]:
    yield Evidence(f"the debug agent printed: {fault.said}")
    if fault.told:
        yield Evidence(fault.told)
    yield Evidence(_which(site, len(rows), len(likely)), (site.number,))
    yield from given(facts, likely[0], site.number)


def _which(site: Site, running: int, likely: int) -> str:
    if running == 1:
        return f"launch {site.launch} is the only launch of this kernel that may have been running"
    among = f"of {running:,} launches of this kernel that may have been running"
    if likely == 1:
        return f"{among}, launch {site.launch} was passed the memory nearest to the address"
    return f"launch {site.launch} is the last {among}"
