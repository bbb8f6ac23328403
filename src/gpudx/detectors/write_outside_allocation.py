"""Bytes right beside a buffer, which nobody may write, were found changed (gpudx run --fence).

A buffer begins at an aligned address, so a few bytes are left between it and the fence; they hold a known pattern. The
pattern is looked at whenever the program has waited and when the buffer is released. What changed it wrote outside of the
buffer since it was last seen whole: the launches of that time that were given the buffer are the suspects. Reads there
leave no trace.

Example:

    clCreateBuffer(context, CL_MEM_READ_WRITE, 1001, NULL, NULL);     // the kernel writes 1,004 bytes, in words of 4

Mend it in the kernel's index or guard, or where the host computes the buffer's size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._given import Given, given
from gpudx.detectors._in_flight import pending
from gpudx.detectors._words import plural, several
from gpudx.facts import Facts
from gpudx.facts.fences import Damage
from gpudx.model import Evidence, Finding, Site

ID = "write-outside-allocation"
OUTSIDE = "out-of-bounds-access"
SHOWN = 8


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding for each place and time at which damage was noticed."""
    for damage in facts.fences.damages:
        yield _finding(facts, damage)


def _launches(facts: Facts, damage: Damage) -> list[int]:
    """Launches that may have run between the last look and this one, oldest first."""
    launches = facts.launches
    ran = launches.position[(launches.status == 0) & (launches.position < damage.position)]
    late = [int(p) for p in ran[ran >= damage.since]]
    queues = np.unique(launches.queue)
    early = [int(p) for q in queues for p in pending(facts, int(q), damage.since)]
    return sorted({*late, *(p for p in early if launches.at_position(p) is not None)})


def _mapped(facts: Facts, damage: Damage) -> int | None:
    """A call that gave the program itself a window into the buffer before the damage was noticed."""
    for info in facts.trace.schema.doing("map"):
        field = (info.maps or "").partition("@")[0].partition("+")[0]
        positions = facts.trace.select(info)
        positions = positions[positions < damage.position]
        rows = facts.objects.at(facts.trace.field(info, field, positions), positions)
        hits = positions[rows == damage.block.object]
        if len(hits):
            return int(hits[-1])
    return None


def _several(sites: list[Site]) -> str:
    names = list(dict.fromkeys(f"kernel {site.kernel}" for site in sites))
    return f"One of {plural(len(sites), 'launch', 'launches')} of {several(names)}" if names else "Something"


def _where(damage: Damage) -> str:
    end = damage.offset - damage.block.size
    if damage.offset < 0:
        return f"{plural(-damage.offset, 'byte')} before the start of"
    return "right past the end of" if not end else f"{plural(end, 'byte')} past the end of"


def _finding(facts: Facts, damage: Damage) -> Finding:
    block, running = damage.block, _launches(facts, damage)
    label = facts.objects.label(block.object) if block.object >= 0 else f"the block at {block.address:#x}"
    hits = given(facts, running, block.object) if block.object >= 0 else []
    window = _mapped(facts, damage)
    sites = [facts.sites.at(one.position, argument=one.argument) for one in hits[:SHOWN]]
    only = sites[0] if len(sites) == 1 else None
    who = f"Kernel {only.kernel} (launch {only.launch}, call {only.number})" if only else _several(sites)
    through = f"argument {only.argument}, " if only else ""
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{who} wrote {plural(damage.bytes, 'byte')}, {_where(damage)} {label} ({through}{plural(block.size, 'byte')})."
        ),
        evidence=tuple(_evidence(facts, damage, label, hits, window)),
        site=only,
        others=() if only else tuple(sites),
        allocation=label,
        causes=(OUTSIDE,),
        facts=(
            ("kernel", only.kernel or "?" if only else ""),
            ("argument", str(only.argument) if only else ""),
            ("side", "before" if damage.offset < 0 else "past"),
        ),
        details={
            "certain": only is not None and window is None,
            "offset": damage.offset,
            "bytes": damage.bytes,
            "allocation_size": block.size,
            "state": "live",
        },
    )


def _evidence(facts: Facts, damage: Damage, label: str, hits: list[Given], window: int | None) -> Iterator[Evidence]:
    block = damage.block
    made = int(facts.objects.table["born"][block.object]) if block.object >= 0 else block.made
    yield Evidence(f"call {made + 1} put {label} at {block.address:#x}, with a known pattern beside it", (made + 1,))
    yield Evidence(
        f"bytes {damage.offset:,} to {damage.offset + damage.bytes - 1:,}, counted from its start, had changed between "
        f"call {damage.since + 1} and call {damage.position + 1}"
    )
    numbers = tuple(h.position + 1 for h in hits[:SHOWN])
    if len(hits) == 1:
        yield Evidence(f"one launch that may have run in between was given {label}", numbers)
    elif hits:
        yield Evidence(f"{len(hits)} launches that may have run in between were given {label}", numbers)
    else:
        yield Evidence(f"no launch that may have run in between was given {label}")
    if window is not None:
        yield Evidence(f"the program had a pointer into {label}, too, from mapping it", (window + 1,))
