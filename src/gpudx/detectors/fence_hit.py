"""An access outside of a buffer hit the pages that were put around it (gpudx run --fence).

The processor stopped the access itself, so the instruction is known, and the address says which buffer was missed and by how
much. Without the fence the access would have hit whatever is there: another buffer, the driver's own memory, or nothing.

Example:

    kernel void scale(global float *data, int n) {
        int i = get_global_id(0);
        if (i <= n)                                      // one too many: the last work-item is outside
            data[i] *= 2;
    }

Fix it in the kernel's index or guard, or where the host computes the buffer's size; if the buffer had been released, by
releasing it after the last work that uses it. An access by the program itself, through a pointer from mapping the buffer, is
reported as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._given import Given, given
from gpudx.detectors._in_flight import all_pending
from gpudx.detectors._words import argument, sites_of
from gpudx.facts import Facts, LastWords
from gpudx.facts.allocated import allocation_of
from gpudx.facts.fences import Fenced
from gpudx.facts.host_code import kernel_at
from gpudx.facts.open_calls import fatal_call
from gpudx.facts.unwind import host_stack
from gpudx.model import Access, Allocation, Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import MEMORY
from gpudx.text import plural, several, signal_name

ID = "fence-hit"
CAUSE = Cause(
    id="host-access-outside-buffer",
    title="The program's own code accessed memory outside a buffer",
    refutes_if="The thread that faulted was in a kernel or in a call.",
    fix=(
        "Stay within the mapped range: compare the loop at the line shown with the size passed to the mapping call.",
        "Do not use the pointer after unmapping or releasing the buffer.",
    ),
    predicts=(("fenced", "a thread of the program faults in the pages next to a buffer"),),
    kind=MEMORY,
    about="""The program's own code accessed memory next to a buffer, or a buffer that it had released.

It got a pointer by mapping the buffer, and used it beyond the mapped range or after the buffer was released. No kernel and no
driver was involved.
""",
)
VERBS = {1: "read", 2: "wrote"}
KINDS: dict[int, Literal["read", "write"]] = {1: "read", 2: "write"}
SHOWN = 8
OUTSIDE, FREED, HOST = "out-of-bounds-access", "use-after-free", "host-access-outside-buffer"


@dataclass(frozen=True)
class _Who:
    """Who made the access: "kernel" (the code is a kernel's), "host" (the program itself), "driver" (not known better)."""

    kind: Literal["kernel", "host", "driver"]
    kernel: str | None
    place: str


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    words = facts.trace.last_words
    if words is None or words.fault_address is None:
        return
    block = facts.fences.at(words.address)
    if block is None or not block.on_host or (block.freed is None and 0 <= block.offset(words.address) < block.size):
        return
    who = _who(facts, words)
    yield _by_program(facts, words, block, who) if who.kind == "host" else _by_work(facts, words, block, who)


# ---- who ----


def _who(facts: Facts, words: LastWords) -> _Who:
    place = facts.symbols.describe(words.pc, False)
    kernel = kernel_at(facts, words.pc)
    if kernel:
        return _Who("kernel", kernel, place)
    if fatal_call(facts) is None and (_made_calls(facts, words.tid) or _in_program(facts)):
        return _Who("host", None, place)
    mapping = facts.symbols.mapping(words.pc)
    made_at_run_time = mapping is not None and mapping.executable and not mapping.path
    return _Who("kernel" if made_at_run_time else "driver", None, place)


def _made_calls(facts: Facts, tid: int) -> bool:
    """Is the thread one of the program's own? Drivers' threads make no calls, but the recorder may note things in them."""
    mine = facts.trace.column("tid") == tid
    return bool((mine & ~facts.trace.is_note).any())


def _in_program(facts: Facts) -> bool:
    """Does the stack of the thread that died have a function of the program's executable in it?"""
    name = facts.trace.exe.rpartition("/")[2]
    return any(line.endswith(f"({name})") or line.startswith(f"{name}+") for line in host_stack(facts.trace))


# ---- where ----


def _where(facts: Facts, block: Fenced, address: int) -> str:
    """ "4 bytes past the end of buffer #1"."""
    offset, label = block.offset(address), _label(facts, block)
    if block.freed is not None and 0 <= offset < block.size:
        return f"byte {offset:,} of {label}"
    if offset < 0:
        return f"{plural(-offset, 'byte')} before the start of {label}"
    far = "the first byte" if offset == block.size else plural(offset - block.size, "byte")
    return f"{far} past the end of {label}"


def _label(facts: Facts, block: Fenced) -> str:
    return facts.objects.label(block.object) if block.object >= 0 else f"the block at {block.address:#x}"


def _after(facts: Facts, block: Fenced) -> str:
    released = facts.fences.released(block)
    return "" if released is None else f", after it was released (call {released + 1})"


def _made(facts: Facts, block: Fenced) -> int:
    return int(facts.objects.table["born"][block.object]) if block.object >= 0 else block.made


# ---- findings ----


def _by_program(facts: Facts, words: LastWords, block: Fenced, who: _Who) -> Finding:
    deed, size = _deed(facts, words, block), plural(block.size, "byte")
    message = f"The program itself {deed} ({size}){_after(facts, block)}, in {who.place}."
    stack = host_stack(facts.trace)
    told = Evidence(f"thread {words.tid} was in no call and in no kernel; its stack: {' < '.join(stack[:SHOWN])}")
    return _finding(facts, words, block, message, None, (), (told,), HOST, True, who)


def _by_work(facts: Facts, words: LastWords, block: Fenced, who: _Who) -> Finding:
    running = _running(facts, who)
    hits = given(facts, running, block)
    site, others = _sites(facts, hits, running)
    certain = site is not None and bool(hits or who.kernel) and who.kind == "kernel" and not _gaps(facts)
    only = hits[0] if len(hits) == 1 else None
    deed, size, after = _deed(facts, words, block), plural(block.size, "byte"), _after(facts, block)
    through = f"argument {only.argument}, " if only else ""
    if site:
        what = f"Kernel {site.kernel} (launch {site.launch}, call {site.number})"
        message = f"{what} {deed} ({through}{size}){after}."
    else:
        message = f"{_unnamed(who, others)} {deed} ({size}){after}."
    cause = FREED if block.freed is not None else OUTSIDE
    evidence = tuple(_which(facts, block, who, hits, running))
    return _finding(facts, words, block, message, site, others, evidence, cause, certain, who)


def _unnamed(who: _Who, others: tuple[Site, ...]) -> str:
    names = list(dict.fromkeys(f"kernel {site.kernel}" for site in others))
    if not names:
        return f"Kernel {who.kernel}" if who.kernel else f"Something that was running, in {who.place},"
    return f"One of {plural(len(others), 'launch', 'launches')} of {several(names)}"


def _deed(facts: Facts, words: LastWords, block: Fenced) -> str:
    """ "wrote to memory 4 bytes past the end of buffer #1"; "read byte 0 of buffer #1"."""
    where, verb = _where(facts, block, words.address), VERBS.get(words.access, "accessed")
    if not where[0].isdigit():
        return f"{verb} {where}"
    return f"{verb} {'to memory' if verb == 'wrote' else 'memory'} {where}"


def _gaps(facts: Facts) -> bool:
    """May launches that were running be missing from the record?"""
    return any(gap.kind in ("overwritten", "stopped", "damaged", "cut-file") for gap in facts.trace.gaps)


def _running(facts: Facts, who: _Who) -> list[int]:
    """Launches that may have been running, oldest first; those of the kernel, where it is known."""
    positions = [int(p) for p in np.union1d(all_pending(facts), facts.in_flight)]
    rows = [(p, facts.launches.at_position(p)) for p in positions]
    return [p for p, row in rows if row is not None and who.kernel in (None, facts.launches.name(row))]


def _sites(facts: Facts, hits: list[Given], running: list[int]) -> tuple[Site | None, tuple[Site, ...]]:
    """The launch that it was, or those that it may have been: of several that fit none is named before the rest."""
    named = tuple(facts.sites.at(one.position, argument=one.argument) for one in hits[-SHOWN:])
    named = named or sites_of(facts, running[-SHOWN:])
    return (named[0], ()) if len(named) == 1 else (None, named)


def _which(facts: Facts, block: Fenced, who: _Who, hits: list[Given], running: list[int]) -> Iterator[Evidence]:
    label = _label(facts, block)
    if who.kernel:
        yield Evidence(f"the code at that place is kernel {who.kernel}'s")
    numbers = tuple(h.position + 1 for h in hits[:SHOWN])
    if len(hits) == 1:
        yield Evidence(f"it is the only launch in flight that uses {label}", numbers)
    elif hits:
        yield Evidence(f"{len(hits)} launches that may have been running were passed {label}", numbers)
    elif running:
        text = f"none of {len(running)} launches" if len(running) > 1 else "the only launch"
        was = "was" if len(running) > 1 else "was not"
        calls = tuple(p + 1 for p in running[-SHOWN:])
        yield Evidence(f"{text} that may have been running {was} passed {label}", calls)
    else:
        yield Evidence("no launch is known to have been running")
    for one in hits if len(hits) == 1 else ():
        row = int(facts.launches.kernel_row[facts.launches.at_position(one.position) or 0])
        part = f"{facts.objects.label(one.part)}, a part of {label}" if one.part >= 0 else label
        yield Evidence(f"{argument(facts, row, one.argument)} is {part}", (one.position + 1,))


def _allocation(facts: Facts, block: Fenced, label: str) -> Allocation:
    """The block as it was asked for; the driver's own object may be larger."""
    state = "freed" if block.freed is not None else "live"
    known = allocation_of(facts, block.object, state) or Allocation(label, state=state)
    return replace(known, size=block.size, address=block.address)


def _because(who: _Who, certain: bool, site: Site | None) -> str:
    if who.kind == "host":
        return "The access itself was stopped, in the program's own code."
    if certain:
        return "The access itself was stopped, and no other launch could have made it."
    which = "that this launch made it" if site else "which of the running work made it"
    return f"The access itself was stopped; it is not shown {which}."


def _finding(
    facts: Facts,
    words: LastWords,
    block: Fenced,
    message: str,
    site: Site | None,
    others: tuple[Site, ...],
    evidence: tuple[Evidence, ...],
    cause: str,
    certain: bool,
    who: _Who,
) -> Finding:
    made, label = _made(facts, block), _label(facts, block)
    kind = "freed" if block.freed is not None else "before" if block.offset(words.address) < 0 else "past"
    return Finding(
        id=ID,
        severity="error",
        message=message,
        evidence=(
            Evidence(
                f"{signal_name(words.signal)} reached thread {words.tid} in {who.place} at address {words.address:#x}"
            ),
            Evidence(
                f"that is {_where(facts, block, words.address)}, which call {made + 1} put at {block.address:#x} "
                "between inaccessible pages",
                (made + 1,),
            ),
            *evidence,
        ),
        site=site,
        others=others,
        allocation=_allocation(facts, block, label),
        causes=(cause,),
        facts=(
            ("by", who.kind if site is None else site.kernel or "?"),
            ("argument", "" if site is None or site.argument is None else str(site.argument)),
            ("kind", kind),
        ),
        certainty="observed",
        attribution="this" if certain else "probable" if site else "one of",
        because=_because(who, certain, site),
        access=Access(
            address=words.address,
            kind=KINDS.get(words.access, ""),
            by=who.kind,
            kernel=who.kernel or "",
            offset=block.offset(words.address),
            pc=words.pc,
            seen_by="fence",
        ),
    )
