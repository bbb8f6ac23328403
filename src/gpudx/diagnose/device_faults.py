"""Joins the device's own record of a fault to the launch that made it.

A dump names kernel, shape, parameters, thread, instruction and often the address; the trace has the launches with all their
arguments and every allocation. Together they say which launch it was, which argument's memory was missed, and by how much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.diagnose.accesses import argument_value, cause_of_miss, given, missed_by, missed_memory
from gpudx.diagnose.origins import Traced, in_dump, with_origin
from gpudx.evidence.cuda_coredump import Dump, Fault, Grid, Place, Resident, short_name, to_findings
from gpudx.facts import Facts
from gpudx.facts.crumbs import State
from gpudx.facts.misses import Miss, explain, least
from gpudx.model import Access, Evidence, Finding, Site
from gpudx.text import plural

ID = "device-fault"
RUNNING = "kernel-still-running"
BY_EXCEPTION = {"misaligned-address": "misaligned-access", "trap": "device-trap", "breakpoint": "device-trap"}
WRITES = ("write", "atomic")  # what only goes through pointers to what may be written
MOST = 8
KERNEL = "The device's own record names the kernel; which launch of it is not known."
CERTAIN = "The device's own record fits this launch and no other that had other arguments."
PROBABLE = "The device's own record fits this launch and others with the same arguments."
NO_ADDRESS_OF_KERNEL = (
    "The device's own record names the kernel; which address it accessed is not known, so neither is why."
)
NO_ADDRESS = "The device's own record fits this launch; which address it accessed is not known, so neither is why."

BY_CODE = "The device's own record names the launch and the instruction, and the machine code names the pointer that it went through."


@dataclass(frozen=True)
class Match:
    """The launch (row of Launches) that a faulting grid was, and how that is known."""

    launch: int
    compared: str  # what is the same in both records
    of: int = 1  # so many launches fit; this is the last of them
    alike: bool = True  # the others that fit had the same parameters too
    running: bool = False  # breadcrumbs show that no other one that fits can have been running

    @property
    def certain(self) -> bool:
        return self.of == 1 or self.alike or self.running

    @property
    def text(self) -> str:
        if self.running and self.of > 1:
            return f"the one that was running of {self.of} recorded launches with the same {self.compared}"
        which = "the only recorded launch with" if self.of == 1 else f"the last of {self.of} recorded launches with"
        return f"{which} the same {self.compared}"


def join(dump: Dump, facts: Facts) -> Iterator[Finding]:
    """One finding per fault of the dump, most frequent first; with its launch where one fits."""
    for fault, plain in list(zip(dump.faults, to_findings(dump), strict=True))[:MOST]:
        match = launch_of(fault, facts)
        yield _with_launch(dump, fault, plain, facts, match) if match else _without_launch(fault, plain)


def _without_launch(fault: Fault, plain: Finding) -> Finding:
    causes = _causes(fault, None)
    joined = replace(plain, id=ID, causes=causes, certainty="observed", attribution="kernel", because=KERNEL)
    return replace(joined, attribution="probable", because=NO_ADDRESS_OF_KERNEL) if _is_nowhere(fault) else joined


def _is_nowhere(fault: Fault) -> bool:
    """An access whose address is not known: then neither is why it went there."""
    return fault.access is None and "illegal-address" in short_name(fault.exception)


def launch_of(fault: Fault, facts: Facts) -> Match | None:
    """The launch of a faulting grid. Where its warps had left, only the kernel is known: that tells the launch if it was
    launched once."""
    if fault.grid is not None:
        return match_of(fault.grid, fault.grid.kernel or fault.kernel, facts)
    rows = facts.launches.find(fault.place.mangled) if fault.place else np.zeros(0, np.int64)
    match = _best(rows, "kernel", facts, alike=False)
    return match if match and (match.of == 1 or match.running) else None


def match_of(grid: Grid, kernel: str, facts: Facts) -> Match | None:
    """The last launch that fits all that a dump has of a grid: kernel, shape, parameters.

    Grid numbers of a dump count copies and fills too, so they are not used.
    """
    rows = facts.launches.find(kernel, grid.grid, grid.block)
    if grid.parameters is None:
        return _best(rows, "kernel and shape", facts, alike=False)
    # Where in the block is not compared: one that was read from a constant bank begins with the driver's own words.
    fitting = facts.launches.within(rows, grid.parameters)
    return _best(fitting, "kernel, shape and parameters", facts)


def _best(rows: NDArray[np.int64], compared: str, facts: Facts, alike: bool = True) -> Match | None:
    """Of the launches that fit, last first: the one that breadcrumbs show as running, else the last."""
    if not len(rows):
        return None
    running = rows[facts.crumbs.at(facts.launches.position[rows]) == State.RUNNING]
    chosen = running if len(running) == 1 else rows
    return Match(int(chosen[0]), compared, len(rows), alike, running=len(running) == 1)


def still_running(dump: Dump, facts: Facts) -> Iterator[Finding]:
    """One finding per kernel that was on the device when a dump was asked for, the one with the most warps first."""
    grids: dict[int, list[Resident]] = {}
    for resident in dump.resident:
        if resident.grid is not None and resident.grid.kernel:
            grids.setdefault(resident.grid.id, []).append(resident)
    for residents in sorted(grids.values(), key=lambda rs: -sum(r.warps for r in rs))[:MOST]:
        yield _running(residents, facts)


def _running(residents: list[Resident], facts: Facts) -> Finding:
    grid = residents[0].grid
    assert grid is not None and grid.kernel is not None
    match = match_of(grid, grid.kernel, facts)
    name = Place(0, grid.kernel, 0).name
    site = facts.sites.at(int(facts.launches.position[match.launch])) if match else None
    line = next((r.place.source for r in residents if r.place and r.place.source), None)
    which = f" (launch {site.launch}, call {site.number})" if site else ""
    return Finding(
        id=RUNNING,
        severity="error",
        message=f"Kernel {name}{which} was still running when the time was up{f', at {line}' if line else ''}.",
        evidence=(
            Evidence("the GPU core dump that was asked for at the end has it on the device"),
            *(Evidence(_standing(r)) for r in residents[:MOST]),
            *(_launch_evidence(facts, match, site) if match and site else ()),
        ),
        site=replace(site, source=line or site.source) if site else None,
        causes=("hang",),
        facts=(("kernel", name), ("line", line or "")),
        certainty="observed",
        attribution="probable",
        because="It was on the device when the time was up; a larger --timeout shows whether it is slow or stuck.",
    )


def _standing(resident: Resident) -> str:
    first, place = resident.first, resident.place
    where = (place.source or str(place)) if place else f"{resident.pc:#x}"
    who = f"thread {first.thread} of block {first.block}"
    return f"{plural(resident.warps, 'warp')} ({plural(resident.lanes, 'thread')}) stood at {where}; the first is {who}"


def _miss(fault: Fault, facts: Facts, launch: int, traced: Traced) -> tuple[Miss, int] | None:
    """What was missed: of the addresses of the faulting warps the highest and the lowest are looked at."""
    access = fault.access
    through = traced.through
    if access is None:
        address = traced.address
        return None if address is None else (traced.named(explain(facts, launch, address, through=through)), address)
    writes = access.kind in WRITES
    seen = [
        (traced.named(explain(facts, launch, address, writes=writes, through=through)), address)
        for address in (access.highest, access.lowest)
    ]
    return least(seen) or seen[0]


def _traced(dump: Dump, fault: Fault, access: Access | None, facts: Facts, launch: int) -> Traced:
    """Where the address of the first thread came from."""
    if fault.function is None or access is None or access.space not in ("", "global", "generic"):
        return Traced()
    return in_dump(dump, fault, facts, launch, access)


def _with_launch(dump: Dump, fault: Fault, plain: Finding, facts: Facts, match: Match) -> Finding:
    launch = match.launch
    traced = _traced(dump, fault, plain.access, facts, launch)
    missed = _miss(fault, facts, launch, traced)
    miss = missed[0] if missed else None
    position = int(facts.launches.position[launch])
    value = argument_value(facts, launch, miss)
    unknown = _is_nowhere(fault) and traced.through is None
    argument = miss.argument if miss else traced.origin.argument if traced.origin else None
    site = facts.sites.at(position, argument=argument, value=value)
    return replace(
        plain,
        id=ID,
        message=_message(fault, site, missed, traced),
        evidence=(*_launch_evidence(facts, match, site), *plain.evidence, *traced.evidence),
        site=replace(site, source=_line(fault) or site.source),
        allocation=missed_memory(facts, miss) if miss else traced.memory(facts, launch),
        access=missed_by(facts, with_origin(plain.access, traced), missed),
        causes=_causes(fault, miss),
        certainty="observed",
        attribution="this" if match.certain and not unknown else "probable",
        because=_because(match, unknown, missed is None and not unknown and _is_nowhere(fault)),
    )


def _because(match: Match, unknown: bool, by_code: bool) -> str:
    if match.certain and by_code:
        return BY_CODE
    return NO_ADDRESS if match.certain and unknown else CERTAIN if match.certain else PROBABLE


def _message(fault: Fault, site: Site, missed: tuple[Miss, int] | None, traced: Traced) -> str:
    where = f" at {_line(fault)}" if _line(fault) else ""
    head = f"Kernel {fault.kernel} (launch {site.launch}, call {site.number}) failed{where}: {fault.meaning}"
    if missed:
        return f"{head}; the access at {missed[1]:#x} was {missed[0].text}."
    return f"{head}; the access went through {traced.origin.pointer}." if traced.origin else f"{head}."


def _launch_evidence(facts: Facts, match: Match, site: Site) -> Iterator[Evidence]:
    yield Evidence(f"launch {site.launch} is {match.text} as the grid on the device", (site.number,))
    yield from given(facts, match.launch, site.number)


def _line(fault: Fault) -> str | None:
    place = fault.place
    return getattr(place, "source", None) or (str(place) if place else None)


def _causes(fault: Fault, miss: Miss | None) -> tuple[str, ...]:
    name = short_name(fault.exception)
    if name in BY_EXCEPTION:
        return (BY_EXCEPTION[name],)
    if "illegal-address" in name or "user-stack" in name:
        return (cause_of_miss(miss),)
    return ("device-exception",)
