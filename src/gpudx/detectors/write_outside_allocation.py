"""Bytes right next to an allocation were found changed (gpudx run --fence).

An allocation begins at an aligned address, so a few bytes are left between it and the fence; they hold a known pattern. The
pattern is checked when the program has waited, and when the memory is freed. Where fences are not possible, a red zone of 4 KB
behind the allocation holds the pattern. If it changed, something wrote outside the allocation since the last check: the
launches in between that were passed the allocation are the suspects. Where kernels use addresses, other launches may have got
one from elsewhere, so a single suspect is likely, not certain. Reads leave no trace, and neither does a write of the same
values.

Example:

    float *row;
    cudaMalloc(&row, 63 * sizeof(float));                          // 252 bytes; 4 more to the next multiple of 256
    scale<<<1, 64>>>(row, 64);                                     // the last thread writes row[63]

Fix it in the kernel's index or guard, or where the host computes the size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpudx.detectors import Run
from gpudx.detectors._device_errors import suspect
from gpudx.detectors._given import Given, given
from gpudx.detectors._in_flight import may_have_run
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.fences import RED, Damage
from gpudx.model import Access, Cause, Evidence, Finding
from gpudx.model.cause_kinds import MEMORY
from gpudx.text import plural

ID = "write-outside-allocation"
CAUSE = Cause(
    id=ID,
    title="Something wrote right outside an allocation",
    refutes_if="The pattern is also damaged in a fenced run without the named launch.",
    fix=(
        "Compare the size of the allocation with what the launch's grid and size arguments can reach; correct the smaller.",
        "Where several launches are named: gpudx run --fence --serialise checks after each of them.",
    ),
    predicts=(("fenced", "with a smaller --fence-align, or the other edge, the same launch hits the fence"),),
    settled_by="gpudx run --fence --fence-align 16 (the same access may then hit the fence)",
    settled_of=(("cuda", "gpudx run --sanitize"),),
    kind=MEMORY,
)
SHOWN = 8
CERTAIN = "The written bytes were found, and no other launch could have written them."
PROBABLE = "The bytes were intact before this launch, and no other launch was passed this allocation since."
UNKNOWN = "The bytes were written; it is not known which of the launches since the last check did it."
MOST_ASKED = 4000  # launches that are looked at one by one, the newest


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding for each place and time at which damage was noticed."""
    for damage in facts.fences.damages:
        yield _finding(facts, damage)


def _finding(facts: Facts, damage: Damage) -> Finding:
    block, label = damage.block, _label(facts, damage)
    running = may_have_run(facts, damage.since, damage.position)
    hits = _ranked(facts, given(facts, running[-MOST_ASKED:], block))
    graphs, window = _graphs(facts, damage), _mapped(facts, damage)
    only = hits[0] if len(hits) == 1 and not graphs and len(running) <= MOST_ASKED else None
    alone = len(running) == 1 and _was_waited_for(facts, damage) and not _moved(facts, damage)
    certain = only is not None and window is None and (alone or not _by_address(facts, only))
    site = facts.sites.at(only.position, argument=only.argument) if only else None
    written = _in_elements(facts, damage, only) if only else damage
    return Finding(
        id=ID,
        severity="error",
        message=_message(facts, written, hits, only, certain),
        evidence=(
            *_seen(facts, damage, label),
            *(_told(facts, one, label) for one in hits[:SHOWN]),
            *_rest(running, hits, graphs, window, label),
        ),
        site=site,
        others=() if only else tuple(facts.sites.at(one.position, argument=one.argument) for one in hits[:SHOWN]),
        allocation=replace(known, size=block.size) if (known := allocation_of(facts, block.object)) else None,
        causes=(ID,),
        facts=(
            ("kernel", site.kernel or "?" if site else ""),
            ("argument", str(only.argument) if only else ""),
            ("side", "before" if damage.offset < 0 else "past"),
            ("size", str(block.size)),
        ),
        certainty="observed",
        attribution="this" if certain else "probable" if only else "unknown",
        because=CERTAIN if certain else PROBABLE if only else UNKNOWN,
        access=Access(
            address=block.address + written.offset if block.address else None,
            kind="write",
            width=written.bytes,
            offset=written.offset,
            seen_by="fence",
        ),
    )


def _in_elements(facts: Facts, damage: Damage, only: Given) -> Damage:
    """The whole elements that a kernel wrote: a byte of one that equals the pattern's looks unwritten."""
    row = facts.launches.at_position(only.position)
    info = facts.launches.info(row) if row is not None else None
    declared = info.args.get(only.argument) if info else None
    element = declared.element if declared and declared.element else 1
    begin, size = damage.offset // element * element, damage.block.size
    begin = max(begin, size) if damage.offset >= size else begin
    end = -(-(damage.offset + damage.bytes) // element) * element
    return replace(damage, offset=begin, bytes=end - begin)


# ---- who may have been it ----


def _was_waited_for(facts: Facts, damage: Damage) -> bool:
    """Did the recorder wait by itself between the two looks, as it does around each launch of a serialised run?"""
    waits = facts.trace.select(facts.trace.schema.doing("wait"))
    own = waits[facts.trace.column("caller", waits) == 0]
    return bool(((own >= damage.since) & (own < damage.position)).any())


def _moved(facts: Facts, damage: Damage) -> bool:
    """Was memory copied or filled between the two looks?"""
    schema = facts.trace.schema
    positions = facts.trace.select((*schema.doing("copy"), *schema.doing("fill")))
    return bool(((positions >= damage.since) & (positions < damage.position)).any())


def _by_address(facts: Facts, one: Given) -> bool:
    """May other launches have reached the block too, with an address that no argument shows?"""
    launch = facts.launches.at_position(one.position)
    return launch is None or bool(facts.launches.by_address[launch])


def _ranked(facts: Facts, hits: list[Given]) -> list[Given]:
    """The most suspicious first, then the newest."""
    launches = [(facts.launches.at_position(one.position) or 0, one) for one in hits]
    return [one for _, one in sorted(launches, key=lambda pair: (-suspect(facts, pair[0]).weight, -pair[0]))]


def _graphs(facts: Facts, damage: Damage) -> list[int]:
    started = facts.graphs.position[facts.graphs.status == 0]
    return [int(p) for p in started if damage.since <= p < damage.position]


def _mapped(facts: Facts, damage: Damage) -> int | None:
    """A call that gave the program itself a window into the memory before the damage was noticed."""
    for info in facts.trace.schema.doing("map") if damage.block.object >= 0 else ():
        field = (info.maps or "").partition("@")[0].partition("+")[0]
        if info.word(field) is None:
            continue
        positions = facts.trace.select(info)
        positions = positions[positions < damage.position]
        rows = facts.objects.at(facts.trace.field(info, field, positions), positions)
        hits = positions[rows == damage.block.object]
        if len(hits):
            return int(hits[-1])
    return None


# ---- words ----


def _label(facts: Facts, damage: Damage) -> str:
    block = damage.block
    return facts.objects.label(block.object) if block.object >= 0 else f"the block at {block.address:#x}"


def _where(facts: Facts, damage: Damage) -> str:
    end, label = damage.offset - damage.block.size, _label(facts, damage)
    if damage.offset < 0:
        return f"{plural(-damage.offset, 'byte')} before the start of {label}"
    far = plural(end, "byte") if end else "right"
    return f"{far} past the end of {label}"


def _message(facts: Facts, damage: Damage, hits: list[Given], only: Given | None, certain: bool) -> str:
    wrote = f"wrote {plural(damage.bytes, 'byte')}, {_where(facts, damage)}"
    size = plural(damage.block.size, "byte")
    if only is None:
        many = f"; {plural(len(hits), 'launch', 'launches')} since then were passed it" if hits else ""
        return f"Something {wrote} ({size}){many}."
    site = facts.sites.at(only.position)
    if certain:
        return f"Kernel {site.kernel} (launch {site.launch}, call {site.number}) {wrote} (argument {only.argument}, {size})."
    who = (
        f"the only launch since that was passed it is launch {site.launch} of kernel {site.kernel} (call {site.number})"
    )
    return f"Something {wrote} ({size}); {who}."


def _seen(facts: Facts, damage: Damage, label: str) -> Iterator[Evidence]:
    block = damage.block
    made = int(facts.objects.table["born"][block.object]) if block.object >= 0 else block.made
    where = (
        f"made {label}, and the recorder put a known pattern right after it"
        if block.edge == RED
        else f"put {label} at {block.address:#x}, with a known pattern next to it"
    )
    yield Evidence(f"call {made + 1} {where}", (made + 1,))
    last = damage.offset + damage.bytes - 1
    changed = f"byte {last:,}" if damage.bytes == 1 else f"bytes {damage.offset:,} to {last:,}"
    yield Evidence(
        f"{changed}, counted from its start, had changed between "
        f"call {damage.since + 1} and call {damage.position + 1}; there is now {damage.seen:#x}"
    )


def _told(facts: Facts, one: Given, label: str) -> Evidence:
    launch = facts.launches.at_position(one.position) or 0
    name = argument(facts, int(facts.launches.kernel_row[launch]), one.argument)
    part = f"{facts.objects.label(one.part)}, a part of {label}," if one.part >= 0 else label
    text = (
        f"launch {launch + 1} of kernel {facts.launches.name(launch)}, which may have run in between, was passed {part}"
    )
    return Evidence(f"{text} as {name}", (one.position + 1,))


def _rest(
    running: list[int], hits: list[Given], graphs: list[int], window: int | None, label: str
) -> Iterator[Evidence]:
    if not hits:
        yield Evidence(f"no launch that may have run in between was passed {label}")
    if len(running) > len(hits):
        rest = plural(len(running) - len(hits), "other launch", "other launches")
        yield Evidence(f"{rest} in that time not known to be passed it")
    if graphs:
        yield Evidence(f"{plural(len(graphs), 'graph launch', 'graph launches')} too", (graphs[0] + 1,))
    if window is not None:
        yield Evidence(f"the program had a pointer into {label}, too, from mapping it", (window + 1,))
