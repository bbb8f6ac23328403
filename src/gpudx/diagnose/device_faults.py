"""Joins the device's own record of a fault to the launch that made it.

A dump names kernel, shape, parameters, thread, instruction and often the address; the trace has the launches with all their
arguments and every allocation. Together they say which launch it was, which argument's memory was missed, and by how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.diagnose.accesses import argument_value, cause_of_miss, given, missed_by, missed_memory
from gpudx.diagnose.freed_under import with_free
from gpudx.diagnose.origins import Traced, in_dump, with_origin
from gpudx.evidence.cuda_coredump import Dump, Fault, Grid, Lock, Place, Resident, short_name, to_findings
from gpudx.facts import Facts
from gpudx.facts.crumbs import State
from gpudx.facts.misses import Miss, explain, least
from gpudx.facts.stuck import suspicions
from gpudx.model import Access, Evidence, Finding, Site
from gpudx.text import listed, plural

ID = "device-fault"
RUNNING = "kernel-still-running"
BY_EXCEPTION = {"misaligned-address": "misaligned-access", "trap": "device-trap", "breakpoint": "device-trap"}
WRITES = ("write", "atomic")  # what only goes through pointers to what may be written
MOST = 8
KERNEL = "The device's own record names the kernel, but not which launch of it."
CERTAIN = "The device's own record fits this launch and no other that had other arguments."
PROBABLE = "The device's own record fits this launch and others with the same arguments."
NO_ADDRESS_OF_KERNEL = (
    "The device's own record names the kernel; neither the accessed address nor the reason is known."
)
NO_ADDRESS = "The device's own record fits this launch; neither the accessed address nor the reason is known."

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
        grid = residents[0].grid
        lock = next((one for one in dump.locks if one.places[0].grid == grid), None)
        yield _locked(lock, facts) if lock else _running(residents, facts, _blocks(dump, residents[0]))


def _blocks(dump: Dump, one: Resident) -> int:
    """How many blocks of its grid are on the device."""
    assert one.grid is not None
    mine = dump.lanes[(dump.lanes["device"] == one.first.device) & (dump.lanes["grid"] == one.grid.id)]
    return len(np.unique(mine["block"], axis=0))


def _running(residents: list[Resident], facts: Facts, blocks: int = 0) -> Finding:
    grid = residents[0].grid
    assert grid is not None and grid.kernel is not None
    match = match_of(grid, grid.kernel, facts)
    name = Place(0, grid.kernel, 0).name
    site = facts.sites.at(int(facts.launches.position[match.launch])) if match else None
    busy = [r for r in residents if not r.waits] or residents  # who waits for others is not why it goes on
    residents = [*busy, *(r for r in residents if r not in busy)]
    line = next((r.place.source for r in busy if r.place and r.place.source), None)
    which = f" (launch {site.launch}, call {site.number})" if site else ""
    polled = next((r for r in busy if r.polled and r.polled.space != "local"), None)
    place, reads = _polled(facts, match, polled) if polled else (None, ())
    waits = f" It waits for {place} to change." if place else ""
    of_grid = _of_grid(grid, blocks, site) if polled and not place else ""
    may = list(suspicions(facts, int(facts.launches.position[match.launch]))) if match and not of_grid else []
    return Finding(
        id=RUNNING,
        severity="error",
        message=f"Kernel {name}{which} was still running at the time limit{f', at {line}' if line else ''}.{waits or of_grid}",
        evidence=(
            *reads,
            *(Evidence(one.text) for one in may),
            Evidence("the GPU core dump that was asked for at the end has it on the device"),
            *(Evidence(_standing(r)) for r in residents[:MOST]),
            *(_launch_evidence(facts, match, site) if match and site else ()),
        ),
        site=replace(site, source=line or site.source) if site else None,
        causes=("barrier-misuse",) if of_grid else ("hang",),
        facts=(("kernel", name), ("line", line or "")),
        certainty="observed",
        attribution="this" if of_grid and match and match.certain else "probable",
        steps=EVERY_BLOCK if of_grid else tuple(one.step for one in may),
        access=Access(by="kernel", kernel=name, source=line, seen_by="dump") if of_grid else None,
        because=LEFT if of_grid else "It was on the device at the time limit; a larger --timeout shows whether it is slow or stuck.",
    )


LEFT = "All blocks of a cooperative launch are on the device until they end, and the device's own record lacks some while others wait."
EVERY_BLOCK = (
    "Let every block of the grid reach each grid.sync(): a block that has nothing to do must not return or skip it.",
    "Check the branch or loop around the barrier: its condition must be the same for all blocks.",
)


def _of_grid(grid: Grid, blocks: int, site: Site | None) -> str:
    """Blocks of a cooperative launch that wait for memory of nobody's: the word by which a barrier of the grid counts. "" where none has
    left, or it is no such launch."""
    total = math.prod(grid.grid)
    if site is None or "Cooperative" not in site.call or not 0 < blocks < total:
        return ""
    return f" It waits at a barrier of the whole grid, and {total - blocks:,} of its {total:,} blocks have left the kernel."


DEADLOCK = "The device's own record shows threads of one warp that wait for each other at different places: none of them can continue."
TOGETHER = (
    "Move the barrier out of the branch or loop that not all threads take, so that every thread of the block reaches it.",
    "Let threads that have nothing to do skip the work, not the barrier.",
)


def _locked(lock: Lock, facts: Facts) -> Finding:
    """Threads of one warp that wait for each other at different places."""
    inner, grid = lock.places[0], lock.places[0].grid
    assert grid is not None and grid.kernel is not None
    match = match_of(grid, grid.kernel, facts)
    name = Place(0, grid.kernel, 0).name
    site = facts.sites.at(int(facts.launches.position[match.launch])) if match else None
    line = (inner.place.source if inner.place else None) or ""
    which = f" (launch {site.launch})" if site else ""
    return Finding(
        id=RUNNING,
        severity="error",
        message=f"Kernel {name}{which} cannot end: {listed([_waiting(one) for one in lock.places])}, and they wait for each other.",
        evidence=(
            Evidence(f"in {plural(lock.warps, 'warp')} every thread waits, and not all at the same place"),
            *(Evidence(_standing(r)) for r in lock.places[:MOST]),
            Evidence("the GPU core dump was taken while the program made no progress"),
            *(_launch_evidence(facts, match, site) if match and site else ()),
        ),
        site=replace(site, source=line or site.source) if site else None,
        causes=("barrier-misuse",),
        facts=(("kernel", name), ("line", line)),
        certainty="observed",
        attribution="this" if match and match.certain else "kernel",
        because=DEADLOCK,
        steps=TOGETHER,
        access=Access(by="kernel", kernel=name, source=line, block=inner.first.block, thread=inner.first.thread, seen_by="dump"),
    )


def _waiting(one: Resident) -> str:
    """ "85 threads wait at the barrier at k.cu:22"."""
    what = "the barrier" if "barrier" in one.waits else "the point where the warp reconverges"
    source = one.place.source if one.place else None
    return f"{plural(one.lanes, 'thread')} {'waits' if one.lanes == 1 else 'wait'} at {what}{f' at {source}' if source else ''}"


def _polled(facts: Facts, match: Match | None, resident: Resident) -> tuple[str | None, tuple[Evidence, ...]]:
    """The memory that a loop reads again and again, and how that is known."""
    access = resident.polled
    assert access is not None
    once = access.lowest == access.highest
    how = f"its loop only executes `{access.instruction}`, at {access.lowest:#x}" + ("" if once else f" to {access.highest:#x}")
    if access.space == "shared":
        return "shared memory", (Evidence(how),)
    if match is None:
        return None, (Evidence(how),)
    miss = explain(facts, match.launch, access.lowest)
    return (miss.text.removeprefix("inside ") if miss.kind == "inside" else None), (Evidence(f"{how}: {miss.text}"),)


def _standing(resident: Resident) -> str:
    first, place = resident.first, resident.place
    where = (place.source or str(place)) if place else f"{resident.pc:#x}"
    who = f"thread {first.thread} of block {first.block}"
    return f"{plural(resident.warps, 'warp')} ({plural(resident.lanes, 'thread')}) were at {where}; the first is {who}"


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
    joined = replace(
        plain,
        id=ID,
        message=_message(fault, site, missed, traced),
        evidence=(
            _which_launch(match, site),
            *(given(facts, launch, site.number, only=argument) if argument is not None else ()),
            *plain.evidence,
            *traced.evidence,
            *given(facts, launch, site.number, but=argument),
        ),
        site=replace(site, source=site.source or _line(fault)),
        allocation=missed_memory(facts, miss) if miss else traced.memory(facts, launch),
        access=missed_by(facts, with_origin(plain.access, traced), missed),
        causes=_causes(fault, miss),
        certainty="observed",
        attribution="this" if match.certain and not unknown else "probable",
        because=_because(match, unknown, missed is None and not unknown and _is_nowhere(fault)),
    )
    return with_free(joined, facts, launch, miss, traced)


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


def _which_launch(match: Match, site: Site) -> Evidence:
    return Evidence(f"launch {site.launch} is {match.text} as the grid on the device", (site.number,))


def _launch_evidence(facts: Facts, match: Match, site: Site) -> Iterator[Evidence]:
    yield _which_launch(match, site)
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
