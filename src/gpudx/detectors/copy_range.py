"""A copy or fill reaches past the end of its memory.

The driver checks little: the memory after it may be mapped and belong to another allocation. Then the copy succeeds and
overwrites it, or the driver refuses it with a status that does not say which side is too small.

Example:

    cudaMalloc(&out, n * sizeof(half));
    cudaMemcpy(out, host, n * sizeof(float), cudaMemcpyHostToDevice);    // twice the size

Fix it by computing the size of the copy and of the allocation from the same number.

Only memory whose allocation was recorded is checked; adjacent mappings count as one. A pitched copy is checked from the first
byte of its first row to the last byte of its last row. Of host memory, only what the driver allocated is checked: registered
memory is part of something larger.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.objects import FAMILIES
from gpudx.facts.ranges import READ
from gpudx.model import Access, Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import MEMORY
from gpudx.text import plural

ID = "copy-range"
CAUSE = Cause(
    id=ID,
    title="A copy or fill reaches past the end of its memory",
    refutes_if="The memory is at least as large as the range that the call was passed.",
    fix=("Compute the size of the copy and of the allocation from the same number.",),
    predicts=(("recorded", "the range ends past the allocation"),),
    kind=MEMORY,
)
I64 = NDArray[np.int64]
NEIGHBOURS = 4096  # mappings in a row that are followed


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and side; repeats are counted."""
    ranges, table = facts.ranges, facts.ranges.table
    rows = np.flatnonzero(ranges.past & (ranges.live & (~table["host"] | _allocated_host(facts))))
    rows = rows[facts.trace.column("end", table["position"][rows]) != 0]
    rows = rows[[not _goes_on(facts, int(r)) for r in rows]]
    calls = facts.trace.call[table["position"][rows]]
    for part in groups(rows, calls, table["how"][rows], ranges.object[rows]):
        yield _finding(facts, int(part[0]), len(part))


def _allocated_host(facts: Facts) -> NDArray[np.bool_]:
    """Which ranges lie in host memory that the driver allocated."""
    return np.append(facts.objects.table["family"] == FAMILIES.index("host"), False)[facts.ranges.object]


def _goes_on(facts: Facts, row: int) -> bool:
    """Does mapped memory go on behind this allocation, without a hole, as far as the copy reaches?"""
    entry = facts.ranges.table[row]
    end, position = int(entry["address"]) + int(entry["size"]), int(entry["position"])
    one, objects = int(facts.ranges.object[row]), facts.objects
    for _ in range(NEIGHBOURS):
        at = int(objects.table["handle"][one]) + int(objects.table["size"][one])
        if at >= end:
            return True
        one = facts.memory.one(at, position)
        live = one >= 0 and objects.state(one, position) == "live"
        if not live or objects.family(one) not in ("mapped", "ipc", "imported"):
            return False
    return True


def _negative(site: Site, width: int) -> list[Evidence]:
    """A size that no memory has is a negative number that became a size."""
    return [Evidence(f"{width:,} is {width - (1 << 64):,} as a signed number", (site.number,))] if width >> 63 else []


def _finding(facts: Facts, row: int, count: int) -> Finding:
    entry, obj = facts.ranges.table[row], int(facts.ranges.object[row])
    position, size = int(entry["position"]), int(facts.objects.table["size"][obj])
    site = facts.sites.at(position, value=int(entry["address"]))
    offset = facts.memory.offset(obj, int(entry["address"]))
    past = offset + int(entry["size"]) - size
    label = facts.objects.label(obj)
    did = "reads" if entry["how"] == READ else "writes"
    into = f", beginning {plural(offset, 'byte')} in" if offset else ""
    return Finding(
        id=ID,
        severity="error",
        message=f"{site.call} {did} {plural(past, 'byte')} past the end of {label}, which has {plural(size, 'byte')}.",
        evidence=(
            Evidence(f"{site.call} {did} {plural(int(entry['size']), 'byte')} of {label}{into}", (site.number,)),
            Evidence(f"{label} was made with {plural(size, 'byte')}", (int(facts.objects.table["born"][obj]) + 1,)),
            *_negative(site, int(entry["width"])),
        ),
        site=site,
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("side", did), ("past", str(past))),
        access=Access(
            address=int(entry["address"]),
            kind="read" if entry["how"] == READ else "write",
            width=int(entry["size"]),
            offset=offset,
            seen_by="record",
        ),
    )
