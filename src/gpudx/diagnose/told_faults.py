"""Joins a fault that a runtime, driver or tool told in words to the record of the run: whose memory was missed, by how much.

Words name an address, mostly of a whole page, and seldom a kernel. The record has every allocation with its end, and the launches
that no wait had shown to be done. An address inside freed memory, or a little past the end of an allocation, that one of these
launches was given is worth more than the line that printed it. If several launches were given it, none of them is blamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpudx.diagnose.accesses import argument_value, cause_of_miss, given, memory_details
from gpudx.facts import Facts
from gpudx.facts.misses import Miss, explain
from gpudx.model import DeviceFault, Evidence, Finding, Site
from gpudx.words import plural

ID = "fault-address-told"
NEAR = (
    1 << 35
)  # bytes: so far a 32-bit index of 8-byte elements reaches; what is farther was missed by nobody in particular
MOST = 8  # faults
MOST_LAUNCHES = 400  # that are looked at one by one, the newest
RANK = {"null": 0, "freed": 1, "past": 2, "before": 2}


@dataclass(frozen=True)
class Candidate:
    """A launch (row of Launches) that may have been running, and what the address is to it."""

    launch: int
    miss: Miss


def join(faults: Sequence[DeviceFault], facts: Facts) -> Iterator[Finding]:
    """One finding for each fault with an address; faults without one say nothing that the record could be asked about."""
    for fault in [one for one in faults if one.address is not None][:MOST]:
        rows = _running(fault, facts)
        fit = _fitting(fault, facts, rows)
        yield _named(fault, facts, fit, len(rows)) if fit else _unnamed(fault, facts, len(rows))


def _when(facts: Facts) -> int:
    """The position before which the device faulted: the first report of it, else the end of the record."""
    reports = facts.errors.reports
    return int(reports[0]) if len(reports) else len(facts.trace)


def _running(fault: DeviceFault, facts: Facts) -> list[int]:
    """Launches that may have been running when the device faulted: no wait before that covers them."""
    launches, before = facts.launches, _when(facts)
    ran = (launches.status == 0) & launches.done & ~launches.captured
    rows = np.flatnonzero(ran & facts.order.open(launches.position, launches.queue, before))
    if fault.kernel:
        rows = rows[np.isin(rows, facts.launches.find(fault.kernel))]
    return [int(row) for row in rows[-MOST_LAUNCHES:]]


def _fitting(fault: DeviceFault, facts: Facts, rows: Iterable[int]) -> list[Candidate]:
    """The launches whose own memory the address missed most plainly, in order of time."""
    found = [Candidate(row, miss) for row in rows if (miss := _miss(fault, facts, row)) is not None]
    if not found:
        return []
    best = min(_order(one.miss) for one in found)
    return [one for one in found if _order(one.miss) == best]


def _order(miss: Miss) -> tuple[int, int]:
    return RANK[miss.kind], miss.distance if RANK[miss.kind] == RANK["past"] else 0


def _miss(fault: DeviceFault, facts: Facts, row: int) -> Miss | None:
    """What was missed, if it is memory that the launch was given. A page that begins inside live memory was not missed."""
    assert fault.address is not None
    miss = _freed_since(facts, explain(facts, row, fault.address, writes=bool(fault.writes)))
    if miss.argument is None or miss.kind not in RANK:
        return None
    return miss if RANK[miss.kind] < RANK["past"] or miss.distance <= NEAR else None


def _freed_since(facts: Facts, miss: Miss) -> Miss:
    """Memory that was live when the launch was made, and freed before the device faulted."""
    if miss.kind != "inside" or int(facts.objects.table["gone"][miss.object]) >= _when(facts):
        return miss
    return replace(miss, kind="freed", text=f"{miss.text}, which was freed after the launch")


# ---- findings ----


def _named(fault: DeviceFault, facts: Facts, fit: list[Candidate], running: int) -> Finding:
    """The memory is known; the launch too, where only one fits."""
    first, miss = fit[0], fit[0].miss
    value = argument_value(facts, first.launch, miss)
    sites = [
        facts.sites.at(int(facts.launches.position[one.launch]), argument=one.miss.argument, value=value)
        for one in fit[:MOST]
    ]
    return Finding(
        id=ID,
        severity="error",
        message=_message(fault, facts, fit, sites[0]),
        evidence=(
            Evidence(f"it was told in words: {fault.said}"),
            *_page(fault, miss),
            _candidates(fit, running, sites),
            *given(facts, first.launch, sites[0].number),
        ),
        site=sites[0] if len(fit) == 1 else None,
        others=tuple(sites[1:] if len(fit) == 1 else sites),
        allocation=facts.objects.label(miss.object) if miss.object >= 0 else None,
        causes=("null-pointer",) if miss.kind == "null" else (cause_of_miss(miss),),
        facts=(("does", fault.does), ("kernel", sites[0].kernel or ""), ("miss", miss.kind)),
        details={
            **memory_details(facts, miss),
            "address": fault.address,
            "distance": miss.distance,
            "single": len(fit) == 1,
            "certain": running == 1,
        },
    )


def _message(fault: DeviceFault, facts: Facts, fit: list[Candidate], site: Site) -> str:
    which = (
        f"kernel {site.kernel} (launch {site.launch}, call {site.number})"
        if len(fit) == 1
        else f"one of {plural(len(fit), 'launch', 'launches')} that were given it, the first of kernel {site.kernel},"
    )
    return f"The device faulted at {fault.address:#x}, {_where(fault, facts, fit[0].miss)}: {which} {fault.does}."


def _where(fault: DeviceFault, facts: Facts, miss: Miss) -> str:
    size = f" ({plural(int(facts.objects.table['size'][miss.object]), 'byte')})" if miss.object >= 0 else ""
    return f"{miss.text}{size}"


def _page(fault: DeviceFault, miss: Miss) -> list[Evidence]:
    if fault.span == 1 or miss.kind not in ("past", "before"):
        return []
    change = "more" if miss.kind == "past" else "less"
    return [Evidence(f"only the page is told: the distance may be up to {fault.span - 1:,} bytes {change}")]


def _candidates(fit: list[Candidate], running: int, sites: list[Site]) -> Evidence:
    calls = tuple(site.number for site in sites)
    if running == 1:
        return Evidence("it is the only launch that may have been running", calls)
    who = "only one was" if len(fit) == 1 else f"{len(fit)} were"
    return Evidence(f"of {running} launches that may have been running, {who} given this memory", calls)


def _unnamed(fault: DeviceFault, facts: Facts, running: int) -> Finding:
    """No launch of that time was given memory there: what the record has at the address is told, and nobody blamed."""
    assert fault.address is not None
    end = len(facts.trace)
    row = facts.memory.one(fault.address, end)
    if row >= 0:
        live = bool(facts.memory.live(np.array([row]), np.array([end]))[0])
        where = f"inside {'' if live else 'freed '}{facts.memory.describe(row)}"
    else:
        near = [facts.memory.describe(one) for one in facts.memory.neighbours(fault.address, end)]
        where = f"in no recorded memory; the nearest is {' and '.join(near)}" if near else "in no recorded memory"
    held = "" if running else ", and no recorded launch may have been running"
    return Finding(
        id=ID,
        severity="warning",
        message=f"The device faulted at {fault.address:#x}, {where}; no launch that may have been running was given it{held}.",
        evidence=(Evidence(f"it was told in words: {fault.said}"),),
        causes=("out-of-bounds-access",),
        facts=(("does", fault.does), ("kernel", fault.kernel), ("miss", "unknown")),
        details={"address": fault.address, "single": False, "certain": False},
    )
