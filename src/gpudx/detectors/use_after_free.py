"""A launch, copy or fill was passed memory that the program had freed.

The driver may keep freed memory mapped, or give it to the next allocation. The program then reads old data, overwrites someone
else's, or faults; often it works for months. The address and the time of the call are recorded, so this is reported even when
the run passed.

Example:

    cudaFree(table);
    apply<<<grid, block>>>(out, in, table, n);      // works today

Fix it by freeing the memory after the last work that uses it has ended, or in the order of that work's stream.

Not reported: memory freed in stream order after the use, addresses that were allocated again, the end of live memory where
freed memory begins; and addresses that the kernel does not load, by its PTX in the program's files. A stale address inside a structure may
be a member that the kernel does not use: a warning, unless the device reported a fault while the launch may have been running.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._device_errors import interval
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument, sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.kernel_code import loads_of
from gpudx.model import Access, Cause, Evidence, Finding, Severity, Site
from gpudx.model.cause_kinds import MEMORY
from gpudx.text import capital, plural

ID = "use-after-free"
CAUSE = Cause(
    id=ID,
    title="Device memory was used after it was freed",
    refutes_if="The allocation was still live, or allocated again, when the work that uses it ran.",
    fix=(
        "Free the memory after the last launch or copy that uses it has completed: in stream order, which costs nothing, or after "
        "the host has waited for it.",
    ),
    predicts=(("recorded", "an argument or a copy points into memory that an earlier call freed"),),
    kind=MEMORY,
    tells="memory",
)
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function and argument, and per call that copies or fills; repeats are counted."""
    yield from _launches(facts)
    yield from _ranges(facts)


def _launches(facts: Facts) -> Iterator[Finding]:
    pointers, launches = facts.launches.pointers, facts.launches
    ran = ~launches.captured & ((launches.status == 0) | ~launches.done)
    rows = np.flatnonzero((pointers.object >= 0) & ~pointers.live & ran[pointers.launch])
    rows = rows[[not _is_end(facts, int(pointers.value[r]), _at(facts, int(r)), int(pointers.object[r])) for r in rows]]
    rows = rows[[_may_be_used(facts, int(r)) for r in rows]]
    functions = facts.kernels.functions(launches.kernel_row[pointers.launch[rows]])
    for part in groups(rows, functions, pointers.index[rows], pointers.inside[rows]):
        yield _of_launch(facts, int(part[0]), len(np.unique(pointers.launch[part])))


def _at(facts: Facts, pointer: int) -> int:
    return int(facts.launches.position[facts.launches.pointers.launch[pointer]])


def _may_be_used(facts: Facts, pointer: int) -> bool:
    """Not where the kernel's code does not load it as an address."""
    pointers = facts.launches.pointers
    code = loads_of(facts, int(facts.launches.kernel_row[pointers.launch[pointer]]))
    return code is None or code.may_be_address(int(pointers.index[pointer]), int(pointers.word[pointer]))


def _is_end(facts: Facts, value: int, position: int, row: int) -> bool:
    """May it be meant as the end of live memory that lies before?"""
    return facts.memory.offset(row, value) == 0 and facts.memory.ends_at(value, position) >= 0


def _of_launch(facts: Facts, pointer: int, count: int) -> Finding:
    pointers, position = facts.launches.pointers, _at(facts, pointer)
    index, inside = int(pointers.index[pointer]), bool(pointers.inside[pointer])
    launch = int(pointers.launch[pointer])
    name = argument(facts, int(facts.launches.kernel_row[launch]), index)
    place = f"byte {int(pointers.word[pointer])} of {name}" if inside else name
    site = facts.sites.at(position, argument=index, value=int(pointers.value[pointer]))
    said = f"kernel {site.kernel} was launched with it as {place}"
    severity: Severity = "warning" if inside and not _may_have_faulted(facts, launch) else "error"
    return _finding(facts, site, int(pointers.object[pointer]), int(pointers.value[pointer]), said, severity, count)


def _may_have_faulted(facts: Facts, launch: int) -> bool:
    """Did the device fault while this launch, the only odd one, may have been running?"""
    found = interval(facts)
    return found is not None and len(found.suspects) == 1 and found.suspects[0].launch == launch


def _ranges(facts: Facts) -> Iterator[Finding]:
    table, ranges = facts.ranges.table, facts.ranges
    rows = np.flatnonzero((ranges.object >= 0) & ~ranges.live & ~table["host"])  # the host may have it again
    for part in groups(rows, facts.trace.call[table["position"][rows]], table["how"][rows]):
        first = int(part[0])
        position, address = int(table["position"][first]), int(table["address"][first])
        site = facts.sites.at(position, value=address)
        said = f"{site.call} {'read' if table['how'][first] == 1 else 'wrote'} it"
        yield _finding(facts, site, int(ranges.object[first]), address, said, "error", len(part))


def _finding(facts: Facts, site: Site, row: int, value: int, said: str, severity: Severity, count: int) -> Finding:
    objects = facts.objects
    label, died = objects.label(row), int(objects.table["gone"][row])
    others = sites_of(facts, [died])
    offset = facts.memory.offset(row, value)
    where = f"{plural(offset, 'byte')} into it" if offset else "its start"
    return Finding(
        id=ID,
        severity=severity,
        message=f"{capital(label)} had been freed ({others[0].call}, call {died + 1}) when {said}.",
        evidence=(
            Evidence(f"{others[0].call} freed {facts.memory.describe(row)}", (died + 1,)),
            Evidence(f"{value:#x} is {where}, and nothing was allocated there since", (site.number,)),
        ),
        site=site,
        others=others,
        count=count,
        allocation=allocation_of(facts, row, "freed"),
        causes=(ID,),
        facts=(("call", site.call), ("kernel", site.kernel or ""), ("argument", str(site.argument))),
        access=Access(address=value, offset=offset, seen_by="record"),
    )
