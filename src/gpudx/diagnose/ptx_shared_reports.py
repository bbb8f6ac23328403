"""What kernels with checks of shared memory and of warp-wide instructions reported (ptx_checks/shared.py), as findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudx.backends.mangling import demangle
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.kernel_checks.plan import Site as Place
from gpudx.model import Access, Evidence, Finding, Site
from gpudx.text import plural, triple

RACE, UNWRITTEN, ABSENT = "kernel-check-shared-race", "kernel-check-shared-unwritten", "kernel-check-lanes"
NOBODY = "kernel-check-lane-gone"
LANES = 32
LANE = "warp"  # the space of a value that another lane was to give
UNDEFINED = (
    "The kernel checked itself and reported the lane. Such values were a large number in this run; that the program fails because of them "
    "is not shown."
)
NOBODY_STEPS = (
    "Let all threads of the warp execute the call: give threads beyond the end a neutral value instead of returning early.",
    "Or use the result only where the lane that it came from takes part.",
)
WHOLE_WARPS = f"Launch blocks of whole warps: a multiple of {LANES} threads, with neutral values for those beyond the end."
REPORTED = "The kernel checked itself and reported both accesses."
READ = (
    "The kernel checked itself and reported the read. Shared memory was filled with a large number in this run; that the program fails "
    "because of it is not shown."
)
LEFT = "The kernel recorded which lanes took the other path, and which lanes the mask names."
RACE_STEPS = (
    "Put __syncthreads() between the code that sets the shared memory and the code that uses it, where all threads of the block reach it.",
)
READ_STEPS = (
    "Set every element of the shared array that is read, or read only those that were set; put __syncthreads() between the two.",
)
ABSENT_STEPS = (
    "Move the warp-wide call out of the branch, so that all lanes that the mask names execute it.",
    "Or compute the mask before the branch, with __ballot_sync(0xffffffff, condition), and pass it to the call.",
)


def findings(found: Sequence[Failure], place_of: Callable[[Failure, int], Place | None]) -> Iterator[Finding]:
    """One finding per launch and kind. Memory that is read while another warp sets it is a race, and not uninitialized."""
    raced: set[int] = set()
    seen: set[tuple[int, str, str]] = set()
    for f in sorted((one for one in found if one.site.kind in ("shared", "warp", "lane")), key=lambda one: one.kind != "race"):
        key = (f.position, f.kind, f.site.kind)
        if key in seen or (f.kind == "uninitialized" and f.site.kind == "shared" and f.position in raced):
            continue
        seen.add(key)
        if f.site.kind == "lane":
            yield _from_nobody(f)
        elif f.kind == "race":
            raced.add(f.position)
            yield _race(f, place_of(f, f.more & 0xFFFF))
        elif f.kind == "uninitialized":
            yield _unwritten(f, sum((one.position, one.kind, one.site.kind) == key for one in found))
        elif f.kind == "barrier":
            yield _absent(f)


def _race(f: Failure, other: Place | None) -> Finding:
    site, before = f.facts.sites.at(f.position), _where(other) if other else ""
    deed, was = ("writes", "used") if f.writes and not f.atomic else ("updates atomically", "writes")
    return Finding(
        id=RACE,
        severity="error",
        message=(
            f"Warps of kernel {_name(f, site)} (launch {site.launch}) race on shared memory: thread {triple(f.local)} {deed} "
            f"{plural(f.width, 'byte')}{_at(f.site)} that thread {f.more >> 32:,} of the block {was}"
            f"{f' at {before}' if before else ''}, and no barrier separates the two."
        ),
        evidence=(
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} executed `{f.site.text}`", (site.number,)),
            Evidence(f"thread {f.more >> 32:,} is in another warp and had passed as many barriers", (site.number,)),
            *((Evidence(f"it executed `{other.text}`", (site.number,)),) if other else ()),
        ),
        site=site,
        causes=("race-in-kernel",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("space", "shared")),
        certainty="observed",
        attribution="this",
        because=REPORTED,
        steps=RACE_STEPS,
        access=_access(f, site, "write" if f.writes else "read"),
    )


def _unwritten(f: Failure, places: int) -> Finding:
    site = f.facts.sites.at(f.position)
    return Finding(
        id=UNWRITTEN,
        severity="warning",
        message=(
            f"Kernel {_name(f, site)} (launch {site.launch}) reads {plural(f.width, 'byte')} of shared memory{_at(f.site)} that no "
            "thread of the block has written."
        ),
        evidence=(
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} read it with `{f.site.text}`", (site.number,)),
            *((Evidence(f"{places:,} statements of the kernel read such memory", (site.number,)),) if places > 1 else ()),
            Evidence("in this run shared memory held 0x7f7f7f7f in every word when a block began", (site.number,)),
        ),
        site=site,
        causes=("read-before-write",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("space", "shared")),
        certainty="observed",
        attribution="probable",
        because=READ,
        steps=READ_STEPS,
        access=_access(f, site, "read"),
    )


def _absent(f: Failure) -> Finding:
    site, lanes = f.facts.sites.at(f.position), f.offset & 0xFFFFFFFF
    branch = f.other
    op = f.site.text.split(" ")[0]
    count = lanes.bit_count()
    return Finding(
        id=ABSENT,
        severity="error",
        message=(
            f"Kernel {_name(f, site)} (launch {site.launch}) executes {op}{_at(f.site)} with a mask that names "
            f"{plural(count, 'lane')} which did not reach it: they took the other path"
            f"{f' at the branch{_at(branch)}' if branch else ' at a branch'}."
        ),
        evidence=(
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} executed `{f.site.text}`", (site.number,)),
            Evidence(f"lanes {_ranges(lanes)} of its warp are named by the mask and took the other path", (site.number,)),
        ),
        site=site,
        causes=("barrier-misuse",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("lanes", f"{lanes:#010x}")),
        certainty="observed",
        attribution="this",
        because=LEFT,
        steps=ABSENT_STEPS,
        access=_access(f, site, ""),
    )


def _never_there(f: Failure) -> int:
    """How many threads a block has, where the lane is one that its last warp does not have; else 0."""
    row = f.facts.launches.at_position(f.position)
    x, y, z = f.facts.launches.grid(row)[1] if row is not None else (0, 0, 0)
    whole, rest = divmod(x * y * z, LANES)
    warp = (f.local[0] + x * (f.local[1] + y * f.local[2])) // LANES
    return x * y * z if rest and warp == whole and f.offset >= rest else 0


def _from_nobody(f: Failure) -> Finding:
    site, op = f.facts.sites.at(f.position), f.site.text.split(" ")[0]
    threads = _never_there(f)
    gone = (
        f"which does not exist: the last warp of a block of {threads:,} threads has {threads % LANES} lanes"
        if threads
        else "but that lane has left the kernel or never existed: the value is undefined"
    )
    return Finding(
        id=NOBODY,
        severity="warning",
        message=(
            f"Kernel {_name(f, site)} (launch {site.launch}) reads the value of lane {f.offset} with {op}{_at(f.site)}, {gone}."
        ),
        evidence=(
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} executed `{f.site.text}`", (site.number,)),
            Evidence(f"lane {f.offset} of its warp did not take part", (site.number,)),
            Evidence("in this run such a value was 0x7f7f7f7f", (site.number,)),
        ),
        site=site,
        causes=("barrier-misuse",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("space", LANE)),
        certainty="observed",
        attribution="probable",
        because=UNDEFINED,
        steps=(WHOLE_WARPS, *NOBODY_STEPS) if threads else NOBODY_STEPS,
        access=replace(_access(f, site, "read"), space=LANE),
    )


def _access(f: Failure, site: Site, kind: str) -> Access:
    return Access(
        kind=kind,  # type: ignore[arg-type]
        by="kernel",
        kernel=site.kernel or "",
        width=f.width or None,
        block=f.group,
        thread=f.local,
        source=_path(f.site),
        space="shared" if kind else "",
        seen_by="kernel check",
    )


def _ranges(lanes: int) -> str:
    """ "1, 3 to 5 and 31"."""
    found: list[list[int]] = []
    for lane in (one for one in range(LANES) if lanes >> one & 1):
        if found and found[-1][-1] == lane - 1:
            found[-1].append(lane)
        else:
            found.append([lane])
    words = [str(one[0]) if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in found]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _name(f: Failure, site: Site) -> str:
    return site.kernel or demangle(f.site.kernel)


def _at(place: Place) -> str:
    where = _where(place)
    return f" at {where}" if where else ""


def _where(place: Place) -> str:
    return _path(place).rpartition("/")[2]


def _path(place: Place) -> str:
    return f"{place.file}:{place.line}" if place.file and place.line else ""
