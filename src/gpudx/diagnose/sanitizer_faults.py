"""Joins what compute-sanitizer saw to the launch that did it.

The tool names the kernel, the thread, the line and the address. The trace has the launches with all their arguments and
every allocation. Together they say which launch it was, and which argument's memory was missed, and by how much: the
"nearest allocation" that the tool prints is the nearest of all, and often one that the launch was never given.

Which launch: one report holds all processes, and nothing in it counts launches. A launch is certain when no other of
its kernel can be meant, or when all that can be meant had the same arguments. An error of the device ends the context,
so a launch that was waited for with success did not make it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpudx.backends.mangling import demangle
from gpudx.diagnose.accesses import argument_value, cause_of_miss, given, missed_by, missed_memory
from gpudx.diagnose.freed_under import with_free
from gpudx.diagnose.judge import UNTIED
from gpudx.diagnose.origins import Traced, in_files, with_origin
from gpudx.evidence.compute_sanitizer import (
    TITLES,
    Fault,
    Location,
    Record,
    Report,
    access_of,
    bare,
    deed,
    location,
    to_findings,
)
from gpudx.facts import Facts
from gpudx.facts.crumbs import State
from gpudx.facts.misses import Miss, explain, least
from gpudx.facts.ranges import WRITE
from gpudx.model import Evidence, Finding, Site
from gpudx.text.places import first_own

MOST = 20  # faults that are joined; more are listed
MOST_TRACED = 256  # launches whose arguments are put into the machine code
MOST_COMPARED = 1000  # launches of a kernel whose arguments are looked at one by one
ACCESSES = {*TITLES, "uninitialised-read"}
UNINITIALISED = "uninitialised-read"
RACES = ("race", "cluster-race")
OF_GIVEN = ("uninitialised-read", "misaligned-access")  # their addresses lie in memory that the launch was given
ENDS_CONTEXT = {*TITLES, "barrier", "trap", "hardware-exception", "unified-memory-fault", "device-heap"}
BY_KIND = {
    "misaligned-access": "misaligned-access", "uninitialised-read": "read-before-write",
    "uninitialised-copy": "read-before-write", "race": "race-in-kernel", "cluster-race": "race-in-kernel",
    "barrier": "barrier-misuse", "deadlock": "barrier-misuse", "trap": "device-trap",
    "hardware-exception": "device-exception", "unified-memory-fault": "device-exception",
    "device-heap": "device-exception",
}  # fmt: skip
# Racecheck warns, where it would report an error of other threads, of accesses that only threads of one warp make (Compute Sanitizer,
# "Racecheck Report Modes": severity levels). Since Volta, threads of a warp do not run in step (CUDA C++ Programming Guide,
# "Independent Thread Scheduling").
WITHIN_WARP = "compute-sanitizer saw both accesses, by threads of one warp that nothing synchronizes."
SEEN = {
    "race": "the race",
    "cluster-race": "the race",
    "barrier": "the barrier",
    "deadlock": "the barrier",
} | dict.fromkeys(ACCESSES, "the access")


@dataclass(frozen=True)
class Match:
    """The launch (row of Launches of a process) that a fault is of, and how that is known."""

    facts: Facts
    launch: int
    kernel: str
    of: int = 1  # so many launches can be meant; this is the last of them
    nearest: bool = False  # it is not the last, but the one whose memory is nearest to the address
    alike: bool = True  # they all had the same arguments
    which: str = ""  # what sets them apart from other launches of the kernel
    doubt: str = ""  # why another launch may be meant all the same
    first: bool = False  # it is the first of them: what one of them did, the first did as well
    by_code: bool = False  # the fault lies in the kernel's code, so each of them has it

    @property
    def uncertain(self) -> str:
        """Why another launch may be meant; empty when none can be, or when it would have done the same."""
        several = f"which of {self.of:,} launches of {self.kernel} made it is not known"
        return self.doubt or (several if self.of > 1 and not self.alike and not self.by_code else "")

    @property
    def text(self) -> str:
        one = "the one with the nearest memory" if self.nearest else "the first" if self.first else "the last"
        which = "the only recorded launch" if self.of == 1 else f"{one} of {self.of:,} recorded launches"
        same = ", all with the same arguments" if self.of > 1 and self.alike else ""
        return f"{which} of {self.kernel}{self.which}{same}" + (f"; {self.doubt}" if self.doubt else "")


def join(
    report: Report, processes: Sequence[Facts], raw: str | None = None, pinned: int | None = None
) -> Iterator[Finding]:
    """What the tool says of itself, then one finding per fault, as printed; with its launch where one is known. `pinned` is the number
    of the launch that faulted in a run without the tool."""
    plain = [_sourced(finding, raw) for finding in to_findings(_readable(report))]
    about, told = plain[: len(plain) - len(report.faults)], plain[len(plain) - len(report.faults) :]
    yield from about
    for number, (fault, finding) in enumerate(zip(report.faults, told, strict=True)):
        yield _joined(fault, finding, processes, pinned) if number < MOST else finding


def _sourced(finding: Finding, raw: str | None) -> Finding:
    first, *rest = finding.evidence
    return replace(finding, evidence=(replace(first, raw=raw), *rest))


def _joined(fault: Fault, plain: Finding, processes: Sequence[Facts], pinned: int | None) -> Finding:
    match = launch_of(fault, processes, pinned)
    if match:
        return _with_launch(fault, plain, match)
    return _seen(replace(plain, causes=_causes(fault, None)), fault, "no recorded launch is known to have made it")


def _seen(finding: Finding, fault: Fault, uncertain: str) -> Finding:
    """The tool looked at every access: that the fault is there is not in doubt, only in which launch."""
    if finding.severity == "warning" and fault.kind == "race" and not fault.doubt:
        return replace(finding, certainty="observed", attribution="probable", because=f"{WITHIN_WARP} {UNTIED}")
    if finding.severity != "error":
        return replace(finding, certainty="inferred")
    saw = f"compute-sanitizer saw {SEEN.get(fault.kind, 'the fault')} itself"
    if uncertain:
        return replace(finding, certainty="observed", attribution="probable", because=f"{saw}; {uncertain}.")
    because = f"{saw}, and no other launch could have made it."
    return replace(finding, certainty="observed", attribution="this", because=because)


# ---- names ----


def _readable(report: Report) -> Report:
    """The report with names as people read them; the tool is asked for symbols."""
    return replace(report, faults=tuple(replace(f, first=_named(f.first)) for f in report.faults))


def _named(record: Record) -> Record:
    host = tuple(replace(frame, function=demangle(frame.function or "") or None) for frame in record.host)
    device = tuple(str(_place(location(text))) for text in record.device)
    other = _place(record.other) if record.other else None
    return replace(record, where=_place(record.where), other=other, host=host, device=device)


def _place(place: Location) -> Location:
    return replace(place, function=demangle(place.function)) if place.function else place


def kernel_of(record: Record) -> str | None:
    """The kernel that a record is of: the outermost device function, where a function that it calls is at fault."""
    return location(record.device[-1]).function if record.device else record.where.function


# ---- which launch ----


def launch_of(fault: Fault, processes: Sequence[Facts], pinned: int | None = None) -> Match | None:
    """The last launch of the fault's kernel that can be meant, in the process that launched it."""
    name = kernel_of(fault.first)
    found = [(facts, _launches(fault, facts, name)) for facts in processes] if name else []
    found = [(facts, rows) for facts, rows in found if rows]
    failing = [pair for pair in found if len(pair[0].errors.reports)]
    one = failing if len(failing) == 1 else found
    if not name or not one:
        return None
    facts, rows = one[-1]
    others = "" if len(one) == 1 else f"{len(one)} processes launched it"
    if fault.kind in ENDS_CONTEXT and pinned is not None and pinned - 1 in rows and not others:
        rows = [pinned - 1]
        return replace(_match(fault, facts, name, rows, others), which=" that faulted without the tool")
    return _match(fault, facts, name, rows, others)


def _launches(fault: Fault, facts: Facts, name: str) -> list[int]:
    """Launches of the kernel whose shape has the block and the thread of the fault, the last first."""
    block, thread = (box.high if box else None for box in (fault.blocks, fault.threads))
    return facts.launches.reaching(_of_kernel(facts, name), block, thread).tolist()


def _of_kernel(facts: Facts, name: str) -> NDArray[np.int64]:
    rows = facts.launches.find(name)
    return rows if len(rows) else facts.launches.find(bare(demangle(name)))


def _match(fault: Fault, facts: Facts, name: str, rows: list[int], doubt: str) -> Match:
    which = " whose grid has this block and thread" if len(rows) < len(_of_kernel(facts, name)) else ""
    if fault.kind in ENDS_CONTEXT:
        left = _not_done(facts, rows)
        doubt = doubt if left else "a successful wait followed each launch of it"
        rows, which = _narrowed(rows, left, " that was not followed by a successful wait", which)
        running = [row for row in rows if facts.crumbs.at(facts.launches.position[[row]])[0] == State.RUNNING]
        rows, which = _narrowed(rows, running, " that was running", which)
    if fault.kind in OF_GIVEN and len(rows) <= MOST_COMPARED:
        left = [row for row in rows if (pair := _miss(fault, facts, row)) and pair[0].kind == "inside"]
        rows, which = _narrowed(rows, left, " that was passed this memory", which)
    if fault.kind in ENDS_CONTEXT and 1 < len(rows) <= MOST_TRACED:
        left = [row for row in rows if _computes(fault, facts, row)]
        rows, which = _narrowed(rows, left, " whose arguments give this address", which)
    if _in_graphs(facts, name):
        doubt = "graphs launch it too"
    elif facts.trace.gaps:
        doubt = doubt or "not all calls were kept"
    alike = _alike(facts, rows)
    if fault.kind in RACES:
        return Match(facts, rows[-1], bare(demangle(name)), len(rows), False, alike, which, doubt, len(rows) > 1, by_code=True)
    if fault.kind == UNINITIALISED:
        unwritten = [row for row in rows if _writer(facts, int(facts.launches.position[row]), fault.first.address) is None]
        rows, which = _narrowed(rows, unwritten, " before which nothing wrote these bytes", which)
        return Match(facts, rows[-1], bare(demangle(name)), len(rows), False, alike, which, doubt, first=len(rows) > 1)
    if alike and fault.kind in ENDS_CONTEXT and len(rows) > 1 and _computes(fault, facts, rows[-1]):
        # The address follows from the arguments alone: the first of these launches went there as well, and ended the context.
        return Match(facts, rows[-1], bare(demangle(name)), len(rows), False, alike, which, doubt, first=True)
    best = rows[0] if alike or len(rows) > MOST_COMPARED else _nearest(fault, facts, rows)
    return Match(facts, best, bare(demangle(name)), len(rows), best != rows[0], alike, which, doubt)


def _computes(fault: Fault, facts: Facts, row: int) -> bool:
    """Does the machine code, with the arguments of this launch, give the address that was seen?"""
    origin = _traced(fault, facts, row).origin
    return origin is not None and origin.meant is not None


def _narrowed(rows: list[int], left: list[int], text: str, which: str) -> tuple[list[int], str]:
    """Those that are left of some launches, and what sets them apart; all, when none or every one is left."""
    return (left, which + text) if left and len(left) < len(rows) else (rows, which)


def _nearest(fault: Fault, facts: Facts, rows: list[int]) -> int:
    """The launch whose memory was missed least; the last of them where the address does not tell."""
    missed = [(pair[0], row) for row in rows if (pair := _miss(fault, facts, row)) and pair[0].argument is not None]
    return min(missed, key=lambda one: _far(one[0]))[1] if missed else rows[0]


def _far(miss: Miss) -> int:
    """Memory that was freed, and null, were hit, not missed."""
    return miss.distance if miss.kind in ("past", "before") else -1


def _not_done(facts: Facts, rows: list[int]) -> list[int]:
    """Those that no successful wait had shown to be done before the fault was reported, or at all."""
    reports = facts.errors.reports
    before = int(reports[0]) if len(reports) else len(facts.trace)
    at = np.array(rows, np.int64)
    still = facts.order.open(facts.launches.position[at], facts.launches.queue[at], before)
    return at[still].tolist()


def _in_graphs(facts: Facts, name: str) -> bool:
    """May a graph have run the kernel?"""
    nodes = [n for versions in facts.graphs.versions.values() for version in versions for n in version.nodes]
    rows = np.array([n.kernel_row for n in nodes if n.kernel_row >= 0], np.int64)
    return bool(np.isin(facts.kernels.functions(rows), facts.kernels.named(name)).any()) if len(rows) else False


def _alike(facts: Facts, rows: list[int]) -> bool:
    """Did all of these launches have the same shape and arguments?"""
    if len(rows) > MOST_COMPARED:
        return False
    return len({(facts.launches.grid(row), *_bytes(facts, row)) for row in rows}) == 1


def _bytes(facts: Facts, row: int) -> tuple[bytes, ...]:
    return tuple(argument["bytes"] for argument in facts.launches.values(row))


# ---- the finding ----


def _with_launch(fault: Fault, plain: Finding, match: Match) -> Finding:
    facts, launch = match.facts, match.launch
    traced = _traced(fault, facts, launch)
    missed = _miss(fault, facts, launch, traced.through)
    miss = traced.named(missed[0]) if missed else None
    missed = (miss, missed[1]) if missed and miss else None
    position = int(facts.launches.position[launch])
    value = argument_value(facts, launch, miss)
    site = facts.sites.at(position, argument=miss.argument if miss else None, value=value)
    missing = miss.argument if miss else None  # the others are no evidence: they come last
    told = (
        Evidence(f"launch {site.launch} is {match.text}", (site.number,)),
        *(given(facts, launch, site.number, only=missing) if missing is not None else ()),
    )
    joined = replace(
        plain,
        message=_message(fault, plain, match, site, missed),
        evidence=(
            *told,
            *plain.evidence,
            *_other_memory(fault, facts, miss),
            *traced.evidence,
            *given(facts, launch, site.number, but=missing),
        ),
        site=replace(site, source=site.source or _line(fault.first)),
        allocation=missed_memory(facts, miss),
        access=missed_by(facts, with_origin(plain.access, traced), missed),
        causes=_causes(fault, miss),
    )
    if fault.kind == UNINITIALISED and (writer := _writer(facts, position, fault.first.address)) is not None:
        wrote = Evidence(f"{facts.sites.at(writer).call} (call {writer + 1}) had written these bytes before the launch", (writer + 1,))
        return replace(joined, severity="warning", certainty="inferred", evidence=(*joined.evidence, wrote))
    freed = with_free(joined, facts, launch, miss, traced) if fault.kind in TITLES else joined
    return _seen(freed, fault, _uncertain(fault, match, None if freed is not joined else miss))


def _traced(fault: Fault, facts: Facts, launch: int) -> Traced:
    """Where the address came from, of accesses to global memory by code that is the kernel's own."""
    first, access = fault.first, access_of(fault)
    own = not first.device or location(first.device[-1]).function == first.where.function
    if fault.kind not in ACCESSES or first.space not in (None, "global") or not own or access is None:
        return Traced()
    return in_files(facts, launch, access)


def _writer(facts: Facts, position: int, address: int | None) -> int | None:
    """The last recorded copy or fill that wrote an address before a launch, since its memory was allocated: the tool does not see
    those of other contexts."""
    table = facts.ranges.table
    memory = facts.memory.one(address or 0, position)
    born = int(facts.objects.table["born"][memory]) if memory >= 0 else -1
    wrote = (table["how"] == WRITE) & (table["position"] < position) & (table["position"] > born) & (table["height"] <= 1)
    wrote &= (table["address"] <= np.uint64(address or 0)) & (np.uint64(address or 0) - table["address"] < table["size"])
    rows = np.flatnonzero(wrote)
    good = rows[facts.trace.column("status", table["position"][rows]) == 0]
    return int(table["position"][good[-1]]) if len(good) and address else None


def _line(record: Record) -> str | None:
    """The innermost line that is not of a header that the toolkit brings, where device frames show one."""
    lines = [record.where.source, *(location(frame).source for frame in record.device)]
    return first_own(line for line in lines if line)


def _miss(
    fault: Fault, facts: Facts, launch: int, through: tuple[int, int] | None = None
) -> tuple[Miss, int] | None:
    """What was missed, and by the access at which address: of the first and the outermost, the one that missed least."""
    first = fault.first
    if fault.kind not in ACCESSES or first.address is None or first.space not in (None, "global"):
        return None  # addresses in shared and local memory are offsets
    if fault.kind in OF_GIVEN:
        return explain(facts, launch, first.address, through=through), first.address
    writes = fault.kind in ("invalid-write", "invalid-atomic")
    starts = sorted({first.address, *((fault.addresses.low, fault.addresses.high) if fault.addresses else ())})
    for more in (0, (first.size or 1) - 1):  # where accesses begin, else where they end
        seen = [(explain(facts, launch, address + more, writes=writes, through=through), address) for address in starts]
        if missed := least(seen):
            return missed
    return explain(facts, launch, first.address, through=through), first.address


def _uncertain(fault: Fault, match: Match, miss: Miss | None) -> str:
    """Why the launch is not certain, or the access is not what the tool holds it for; empty when all is."""
    if match.uncertain:
        told = fault.kind in ENDS_CONTEXT and not match.doubt
        return match.uncertain + ("; a run with --serialise may show it" if told else "")
    inside = miss is not None and miss.kind == "inside" and fault.kind.startswith("invalid")
    return "the recording has the address inside live memory that the launch was passed" if inside else ""


def _message(fault: Fault, plain: Finding, match: Match, site: Site, missed: tuple[Miss, int] | None) -> str:
    who = (
        f"A launch of kernel {match.kernel}, perhaps launch {site.launch} (call {site.number}),"
        if match.uncertain
        else f"Launch {site.launch} of kernel {match.kernel} (call {site.number})"
    )
    if fault.kind == "race" and not match.uncertain and fault.first.where.source and fault.first.other:
        return _race(fault, match.kernel, site)
    if missed is None:
        return f"{plain.message.rstrip('.')}: {who[:1].lower()}{who[1:].rstrip(',')}."
    first = fault.first
    line = _line(first)
    where = f" ({line})" if line else ""
    how = {
        "uninitialised-read": ", which nothing had written",
        "misaligned-access": ", which is not a multiple of that",
    }
    return f"{who} {deed(fault)} at {missed[1]:#x}{how.get(fault.kind, '')}{where}: {missed[0].text}."


def _race(fault: Fault, kernel: str, site: Site) -> str:
    one, other = fault.first.where.source, fault.first.other.source if fault.first.other else None
    places = f"two of them access it at {one}" if one == other else f"one accesses it at {one}, another at {other or 'an unknown line'}"
    space = fault.first.space or "shared"
    return f"Threads of kernel {kernel} (launch {site.launch}) race on {space} memory: {places}, and no barrier separates them."


def _other_memory(fault: Fault, facts: Facts, miss: Miss | None) -> Iterator[Evidence]:
    nearest = fault.first.nearest
    if nearest and miss and miss.object >= 0 and nearest.address != int(facts.objects.table["handle"][miss.object]):
        yield Evidence("the nearest allocation that the tool names is not the one that the launch was passed")


def _causes(fault: Fault, miss: Miss | None) -> tuple[str, ...]:
    if fault.follows:
        return ()
    if fault.kind in BY_KIND:
        return (BY_KIND[fault.kind],)
    return (cause_of_miss(miss),) if fault.kind in TITLES else ()
