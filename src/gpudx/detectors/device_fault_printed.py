"""The runtime printed the address of a fault on the device, or its kernel driver wrote it into the kernel's log.

ROCm's runtime prints the address and ends the process; NVIDIA's driver gives the program an error code, and the kernel's log
the address. The line names a page, and no kernel. The trace adds which allocation the page belongs to or follows, which call
freed it, whether it is memory of the host, and which launches were passed it and may still have been running.

Example:

    hipMalloc(&queries, rows * default_heads * head_dim * sizeof(float));
    gemm<<<grid, block>>>(queries, x, weights, rows, heads * head_dim, dim);     // the model has more heads
    // Memory access fault by GPU node-1 ... on address 0x7f5c28010000. Reason: Page not present or supervisor privilege.

Fix it where the size of the allocation is computed, or in the kernel's index; if the memory had been freed, by freeing it
after the last work that uses it.

Only the page is known: distances are reported as "at least". Breadcrumbs narrow it to launches that had begun and not
completed. A launch is named if it is the only one of these that was passed the memory, was passed memory that is too small for
its size arguments, or reaches the page with the numbers that it was passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import Suspect, interval, suspect
from gpudx.detectors._other_device import devices, strangers
from gpudx.detectors._undersized import object_of, shortages
from gpudx.detectors._undersized_words import room_and_need
from gpudx.detectors._words import argument, had_completed
from gpudx.detectors.freed_while_in_use import ID as IN_USE
from gpudx.detectors.freed_while_in_use import freed_under, order_wanted
from gpudx.detectors.host_pointer_on_device import HOST as HOST_PLACES
from gpudx.detectors.host_pointer_on_device import ID as HOST
from gpudx.facts import Facts, Fault
from gpudx.facts.aimed import Aim, of_graph, of_launch
from gpudx.facts.allocated import allocation_of
from gpudx.facts.host_words import HostWord, host_words
from gpudx.facts.null_words import NullWord, null_words
from gpudx.facts.running import completed, graphs_at_fault, running_at_fault, whole
from gpudx.model import Access, Evidence, Finding, Site
from gpudx.text import plural

ID = "device-fault-printed"
OUTSIDE, FREED, NULL, UNKNOWN = "out-of-bounds-access", "use-after-free", "null-pointer", "device-exception"
STRANGE = "wrong-device-pointer"
NOWHERE = "in no memory that was recorded"
SHOWN = 8
CERTAIN = "The driver reported the address of the fault, and no other launch was running."
PROBABLE = "The driver reported the address of the fault; it is not shown that this launch made it."
ONE_OF = "The driver reported the address of the fault; it is not known which of the running launches made it."
AIMED = "The driver reported the address of the fault, and of the launches that were running only this one's arguments lead to it."
KINDS: dict[bool | None, Literal["read", "write", ""]] = {None: "", True: "write", False: "read"}
MAPPED = 1 << 21  # CUDA maps device memory in pages of 2 MiB: up to there behind an allocation nothing faults
FARTHEST = 1 << 30  # beyond this, memory nearby says nothing
NEAR, TIMES = 1 << 16, 16  # farther away, the nearest memory is meant only if all other memory is so many times as far


@dataclass(frozen=True)
class _Place:
    """Where the page lies: completes "the page is ...". `object` is the row that it is told by, -1 if none."""

    text: str
    cause: str
    object: int = -1


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the first fault. One of the kernel's log is left out where its page tells nothing: the device's error is
    reported in any case, with what is odd about the launches."""
    for position, fault in facts.messages.faults[:1]:
        finding = located(facts, position, fault)[0]
        if not fault.said or _tells(finding):
            yield finding


def _tells(finding: Finding) -> bool:
    """Does the page say more than that there was a fault? Freed memory only if a launch was passed it: any other access may land there."""
    passed = finding.site is not None and finding.site.argument is not None
    return finding.causes[0] != UNKNOWN and (finding.causes[0] != FREED or passed)


def located(facts: Facts, position: int, fault: Fault) -> tuple[Finding, str]:
    """A fault that was printed when the trace had come to `position`, and where its page lies ("64 KiB behind ...")."""
    running = _running(facts, position)
    suspects, alone = running.suspects, running.alone
    place = _place(facts, fault, position, suspects)
    given = [s for s in suspects if _is_given(facts, fault, s.launch, place)]
    aim = _aim(facts, fault, running) if place.object < 0 else None
    guilty = suspects[0] if alone else _aiming(facts, aim, suspects) if aim else _guilty(facts, given, suspects, place)
    place = _in_use(facts, guilty, _aimed_place(aim, _of_another(facts, guilty, place)))
    inside = None if guilty or aim else _in_graph(facts, running, place)
    site = _site(facts, fault, guilty, place) if guilty else _graph(facts, aim) if aim else inside
    order = _order(facts, guilty, place)
    certain = site is not None and place.cause != UNKNOWN and (alone or aim is not None or inside is not None)
    finding = Finding(
        id=ID,
        severity="error",
        message=_message(facts, fault, place, site, order or _size(facts, guilty, place), running, aim),
        evidence=tuple(_evidence(facts, fault, place, given, running, aim)),
        site=site,
        others=tuple(_site(facts, fault, s, place) for s in (given or suspects[::-1])[:SHOWN] if s is not guilty),
        causes=(place.cause,),
        root=facts.sites.at(int(facts.objects.table["died"][place.object])) if site and place.cause in (FREED, IN_USE) else None,
        allocation=allocation_of(facts, place.object, "freed" if place.cause in (FREED, IN_USE) else "live"),
        facts=(("cause", place.cause), ("kernel", site.kernel or "?" if site else "?")),
        certainty="observed",
        attribution="this" if certain else "probable" if site else "one of",
        because=(AIMED if aim else CERTAIN) if certain else PROBABLE if site else ONE_OF,
        access=Access(address=fault.address, kind=KINDS[fault.writes], by="kernel", seen_by="driver"),
    )
    return finding, place.text


@dataclass(frozen=True)
class _Running:
    """What may have been running at the fault."""

    suspects: list[Suspect]
    graphs: tuple[int, ...]  # launches of graphs, by position
    complete: bool  # is all work that may have run in the record?

    @property
    def alone(self) -> bool:
        return len(self.suspects) == 1 and not self.graphs and self.complete

    @property
    def count(self) -> int:
        return len(self.suspects) + len(self.graphs)


def _running(facts: Facts, position: int) -> _Running:
    found = interval(facts) if position == len(facts.trace) else None
    if found is not None:
        return _Running(list(found.suspects), found.graphs, whole(facts))
    rows = running_at_fault(facts, position)
    short = shortages(facts, rows, facts.launches.done & ~np.isin(np.arange(len(facts.launches.position)), rows))
    suspects = [suspect(facts, row, short.get(row, ())) for row in rows.tolist()]
    return _Running(suspects, tuple(map(int, graphs_at_fault(facts, position))), whole(facts))


# ---- where ----


def _place(facts: Facts, fault: Fault, position: int, suspects: list[Suspect]) -> _Place:
    if fault.address < fault.bytes:
        return _first_page(facts, fault, suspects)
    fenced = _fenced(facts, fault)
    if fenced:
        return fenced
    inside = facts.memory.one(fault.address, position)
    if inside >= 0:
        return _inside(facts, fault, position, inside)
    if any(_host_pointer(facts, fault, s.launch) is not None or _host_field(facts, fault, s.launch) for s in suspects):
        where = HOST_PLACES.get(facts.symbols.kind(fault.address) or "", "in host memory of the program")
        return _Place(f"{where}, which the device cannot reach", HOST)
    near = [_beside(facts, fault, row) for row in _nearby(facts, fault, position, suspects)]
    if not near:
        return _Place(NOWHERE, UNKNOWN)
    distance, place = min(near, key=lambda pair: pair[0])
    if place.object < 0 or _is_meant(facts, fault, suspects, distance, place.object):
        return place
    return _Place(f"at least {plural(distance, 'byte')} from all memory that was passed", OUTSIDE)


def _first_page(facts: Facts, fault: Fault, suspects: list[Suspect]) -> _Place:
    """The page of a null pointer. NVIDIA's driver also writes page 0 where it kept no address (seen with driver 580 for a write past the
    end of 2.9 GB): then only a launch that was passed null shows that one was followed."""
    if not fault.said or any(null_words(facts, one.launch) for one in suspects):
        return _Place("that of a null pointer", NULL)
    return _Place("page 0, and no launch that may have been running was passed null", UNKNOWN)


def _null_field(facts: Facts, launch: int) -> NullWord | None:
    """The only null that a launch was passed."""
    words = null_words(facts, launch)
    return words[0] if len(words) == 1 else None


def _is_meant(facts: Facts, fault: Fault, suspects: list[Suspect], distance: int, row: int) -> bool:
    """Was it this memory that was missed, and not other memory of the same launches? An index that was read from memory leads anywhere."""
    if distance < NEAR or any(object_of(facts, short) == row for s in suspects for short in s.short):
        return True
    given = {other for s in suspects for other in _given(facts, s.launch, writes=bool(fault.writes))}
    return all(_beside(facts, fault, other)[0] >= TIMES * distance for other in given - {row})


def _fenced(facts: Facts, fault: Fault) -> _Place | None:
    """Of memory between fences the address itself tells which allocation was missed, also when it is freed."""
    block = facts.fences.at(fault.address)
    if block is None or block.object < 0:
        return None
    name, freed = facts.memory.describe(block.object), block.freed is not None
    if fault.address < block.address + block.size and block.address < fault.address + fault.bytes:
        was = f"where {name} was, which had been freed" if freed else f"that of {name}, which is live"
        return _Place(was, FREED if freed else UNKNOWN, block.object)
    place = _beside(facts, fault, block.object)[1]
    return replace(place, text=f"{place.text}, which had been freed", cause=FREED) if freed else place


def _inside(facts: Facts, fault: Fault, position: int, row: int) -> _Place:
    offset, name = facts.memory.offset(row, fault.address), facts.memory.describe(row)
    live = bool(facts.memory.live(np.array([row]), np.array([position]))[0])
    if live:
        return _Place(f"{offset:,} bytes into {name}, which is live", UNKNOWN, row)
    free = facts.sites.at(int(facts.objects.table["died"][row]))
    return _Place(f"{offset:,} bytes into {name}, which {free.call} (call {free.number}) had freed", FREED, row)


def _nearby(facts: Facts, fault: Fault, position: int, suspects: list[Suspect]) -> list[int]:
    """Memory next to the page that a launch which may have been running was passed: it can have been missed. Whatever runs past its memory
    meets the first page behind it first, so where only a log names the page, what is farther away is not taken for missed."""
    given = {row for s in suspects for row in _given(facts, s.launch, writes=bool(fault.writes))}
    near = [row for row in facts.memory.neighbours(fault.address, position) if row in given]
    return [row for row in near if not fault.said or _beside(facts, fault, row)[0] < MAPPED]


def _beside(facts: Facts, fault: Fault, row: int) -> tuple[int, _Place]:
    first, size = (int(facts.objects.table[name][row]) for name in ("handle", "size"))
    before = fault.address < first
    distance = first - fault.address - fault.bytes if before else fault.address - first - size
    if distance >= FARTHEST:
        return distance, _Place(NOWHERE, OUTSIDE)
    far = f"at least {plural(distance, 'byte')}" if distance > 0 else "right"
    side = "before the start of" if before else "past the end of"
    return distance, _Place(f"{far} {side} {facts.memory.describe(row)}", OUTSIDE, row)


def _of_another(facts: Facts, guilty: Suspect | None, place: _Place) -> _Place:
    """Live memory that is out of reach because it is another device's."""
    pointers, rows = facts.launches.pointers, strangers(facts) if guilty and place.cause == UNKNOWN else ()
    for row in rows:
        if guilty and pointers.launch[row] == guilty.launch and pointers.object[row] == place.object:
            return replace(place, text=f"{place.text} and of device {devices(facts, int(row))[0]}", cause=STRANGE)
    return place


def _in_use(facts: Facts, guilty: Suspect | None, place: _Place) -> _Place:
    """Memory that was there when the launch was made, and was freed without an order between the two."""
    position = int(facts.launches.position[guilty.launch]) if guilty else -1
    under = guilty and place.cause == FREED and freed_under(facts, position, place.object) is not None
    return replace(place, cause=IN_USE) if under else place


# ---- who ----


def _pointer(facts: Facts, fault: Fault, launch: int, place: _Place) -> int | None:
    """The pointer of the launch (a row of Pointers) by which it was passed the memory of the page."""
    if place.cause == HOST:
        return _host_pointer(facts, fault, launch)
    pointers = facts.launches.pointers
    return next((int(row) for row in pointers.of(launch) if place.object >= 0 and pointers.object[row] == place.object), None)


def _host_pointer(facts: Facts, fault: Fault, launch: int) -> int | None:
    """The pointer of the launch into memory of the host that leads to the page: into the page itself, or earlier in heap or stack."""
    pointers, kind = facts.launches.pointers, facts.symbols.kind(fault.address)
    for row in pointers.of(launch):
        value = int(pointers.value[row])
        mine = pointers.declared[row] and pointers.object[row] < 0 and value < fault.address + fault.bytes
        into = value >= fault.address and kind == "anonymous"
        if mine and (into or (kind in HOST_PLACES and facts.symbols.kind(value) == kind)):
            return int(row)
    return None


def _host_field(facts: Facts, fault: Fault, launch: int) -> HostWord | None:
    """The word of a structure that leads to the page: the last one before its end, in the same heap or stack."""
    kind = facts.symbols.kind(fault.address)
    words = [w for w in host_words(facts, launch) if w.value < fault.address + fault.bytes and facts.symbols.kind(w.value) == kind]
    return max(words, key=lambda word: word.value) if words else None


def _is_given(facts: Facts, fault: Fault, launch: int, place: _Place) -> bool:
    """Was the launch passed the memory of the page, or an address of the host that leads there?"""
    if _pointer(facts, fault, launch, place) is not None:
        return True
    return place.cause == HOST and _host_field(facts, fault, launch) is not None


def _given(facts: Facts, launch: int, writes: bool = False) -> set[int]:
    """The memory that a launch was passed; for what `writes`, without memory behind pointers to const."""
    pointers, info = facts.launches.pointers, facts.launches.info(launch) if writes else None
    const = {index for index, one in info.args.items() if one.read_only} if info else set()
    rows = [row for row in pointers.of(launch) if pointers.object[row] >= 0]
    return {int(pointers.object[row]) for row in rows if int(pointers.index[row]) not in const or pointers.inside[row]}


def _guilty(facts: Facts, given: list[Suspect], suspects: list[Suspect], place: _Place) -> Suspect | None:
    """The only launch that was passed the memory; else the first whose own numbers do not fit it, or the only one that was passed null."""
    if len(given) == 1:
        return given[0]
    if place.cause == NULL:
        null = [s for s in suspects if null_words(facts, s.launch)]
        return null[0] if len(null) == 1 else None
    odd = [s for s in given if s.object == place.object and s.weight]
    return odd[0] if odd else None


def _site(facts: Facts, fault: Fault, one: Suspect, place: _Place) -> Site:
    pointers, row = facts.launches.pointers, _pointer(facts, fault, one.launch, place)
    index, value = (None, None) if row is None else (int(pointers.index[row]), int(pointers.value[row]))
    null = _null_field(facts, one.launch) if place.cause == NULL else None
    if null is not None:
        index, value = null.argument, 0
    field = _host_field(facts, fault, one.launch) if place.cause == HOST and row is None else None
    if field is not None:
        index, value = field.argument, field.value
    return facts.sites.at(int(facts.launches.position[one.launch]), argument=index, value=value)


def _aim(facts: Facts, fault: Fault, running: _Running) -> Aim | None:
    """How the only work whose own numbers lead to a page far from all memory reaches it; None where several do, or none."""
    if fault.address < fault.bytes:
        return None
    launches = (of_launch(facts, one.launch, fault.address, fault.bytes) for one in running.suspects)
    graphs = (of_graph(facts, position, fault.address, fault.bytes) for position in running.graphs)
    reaching = [aim for aim in (*launches, *graphs) if aim is not None]
    return reaching[0] if len(reaching) == 1 else None


def _aiming(facts: Facts, aim: Aim | None, suspects: Sequence[Suspect]) -> Suspect | None:
    return next((one for one in suspects if aim and int(facts.launches.position[one.launch]) == aim.position), None)


def _aimed_place(aim: Aim | None, place: _Place) -> _Place:
    """An address that lies by no memory was meant for the memory that it was computed from."""
    return replace(place, cause=OUTSIDE, object=aim.object) if aim else place


# ---- words ----


def _message(
    facts: Facts, fault: Fault, place: _Place, site: Site | None, more: str, running: _Running, aim: Aim | None
) -> str:
    where = f"The device faulted at page {fault.address:#x}, {place.text}"
    if site and aim:
        return f"{where}; {_who(site, aim)} reaches it with the numbers that it was passed: {aim.text}."
    if site and site.launch is None:
        node = f"kernel {site.kernel} of the graph launched by call {site.number}"
        return f"{where}; {node} was passed it as argument {site.argument}."
    if site and place.cause == NULL:
        return f"{where}; launch {site.launch} of kernel {site.kernel} was running{_passed_null(facts, running, site)}."
    if site and site.argument is not None:
        it = "an address there" if place.cause == HOST else "it"
        how = "in" if place.cause == HOST and _in_structure(facts, site) else "as"
        return f"{where}; launch {site.launch} of kernel {site.kernel} was passed {it} {how} argument {site.argument}{more}."
    if site:
        return f"{where}; launch {site.launch} of kernel {site.kernel} was running."
    return f"{where}; {plural(running.count, 'launch', 'launches')} may have been running."


def _in_structure(facts: Facts, site: Site) -> bool:
    return any(w.argument == site.argument for w in host_words(facts, (site.launch or 1) - 1))


def _passed_null(facts: Facts, running: _Running, site: Site) -> str:
    launch = next((one.launch for one in running.suspects if one.launch + 1 == site.launch), None)
    null = None if launch is None else _null_field(facts, launch)
    return f", and {null.name} was null" if null else ""


def _in_graph(facts: Facts, running: _Running, place: _Place) -> Site | None:
    """The launch of a graph, where nothing else was running and a kernel in it was passed the memory."""
    if place.object < 0 or running.suspects or len(running.graphs) != 1 or not running.complete:
        return None
    (position,) = running.graphs
    version = facts.graphs.version(int(np.searchsorted(facts.graphs.position, position)))
    if version is None:
        return None
    pointers = facts.graphs.pointers(version)
    rows = np.flatnonzero(pointers.object == place.object)
    if not len(rows):
        return None
    node = version.nodes[int(pointers.launch[rows[0]])]
    return replace(
        facts.sites.at(position, argument=int(pointers.index[rows[0]]), value=int(pointers.value[rows[0]])),
        kernel=facts.kernels.name(node.kernel_row),
    )


def _graph(facts: Facts, aim: Aim) -> Site:
    """The launch of the graph whose kernel reaches the page."""
    return replace(facts.sites.at(aim.position), kernel=aim.kernel)


def _who(site: Site, aim: Aim) -> str:
    launch = f"launch {site.launch} of kernel {site.kernel}"
    return launch if site.launch else f"kernel {aim.kernel} of the graph launched by call {site.number}"


def _order(facts: Facts, guilty: Suspect | None, place: _Place) -> str:
    """What would have kept the memory until the launch was done with it, where that is what is missing."""
    if guilty is None or place.cause != IN_USE:
        return ""
    position, died = int(facts.launches.position[guilty.launch]), int(facts.objects.table["died"][place.object])
    return f", and nothing orders it before the free: {order_wanted(facts, position, died)}"


def _size(facts: Facts, guilty: Suspect | None, place: _Place) -> str:
    """That the memory is too small for the launch's own numbers, where it is."""
    short = guilty.short if guilty and place.cause == OUTSIDE else ()
    if len(short) != 1 or object_of(facts, short[0]) != place.object:
        return ""
    return f"; it {room_and_need(facts, short[0])}"


def _evidence(
    facts: Facts, fault: Fault, place: _Place, given: list[Suspect], running: _Running, aim: Aim | None
) -> Iterator[Evidence]:
    printed = f"the runtime printed: a memory access fault on address {fault.address:#x}; reason: {fault.reason}"
    yield Evidence(f"the kernel's log has: {fault.said}" if fault.said else printed)
    yield Evidence(f"the page is {place.text}")
    if aim:
        yield Evidence(f"{_who(facts.sites.at(aim.position), aim)}: {aim.text} is in that page", (aim.position + 1,))
        return
    suspects = running.suspects
    shown = given or suspects[::-1]
    done = completed(facts)
    if done is not None:
        yield Evidence(had_completed(done, len(facts.launches)))
    was = "was running" if done is not None and running.alone else "may have been running"
    for one in shown[:SHOWN]:
        odd = f": {'; '.join(one.odd)}" if one.odd else ""
        text = f"launch {one.launch + 1} of kernel {facts.launches.name(one.launch)} {was}{_as(facts, fault, one, place)}{odd}"
        yield Evidence(text, (int(facts.launches.position[one.launch]) + 1,))
    if len(suspects) > len(shown[:SHOWN]):
        yield Evidence(f"{plural(len(suspects), 'launch', 'launches')} may have been running in all")


def _as(facts: Facts, fault: Fault, one: Suspect, place: _Place) -> str:
    pointers, row = facts.launches.pointers, _pointer(facts, fault, one.launch, place)
    field = _host_field(facts, fault, one.launch) if place.cause == HOST and row is None else None
    if field is not None:
        name = argument(facts, int(facts.launches.kernel_row[one.launch]), field.argument)
        return f", with {field.value:#x} at byte {field.byte} of {name}"
    if row is None:
        return ""
    name = argument(facts, int(facts.launches.kernel_row[one.launch]), int(pointers.index[row]))
    what = facts.objects.label(place.object) if place.object >= 0 else f"{int(pointers.value[row]):#x}"
    return f", with {what} as {name}"
