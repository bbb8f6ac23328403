"""The host dereferenced a pointer to device memory, and crashed.

Memory of `cudaMalloc`, `hipMalloc` and similar calls has an address that only the device can use. Host code that reads or writes it
crashes with SIGSEGV, far from the call that allocated the memory. The same happens with a mapped pointer after its unmap.

Example:

    float *sums;
    cudaMalloc(&sums, n * sizeof(float));
    float total = std::accumulate(sums, sums + n, 0.0f);      // runs on the host

Fix it by copying the data to the host first, by computing it in a kernel, or by allocating managed or pinned memory.

Reported only if the fault address is in recorded memory that the host cannot reach, and the thread that died was running
neither a recorded call nor a kernel.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._impossible import access_of
from gpudx.detectors._words import site_of
from gpudx.facts import CallInfo, Facts, LastWords, backend_libraries
from gpudx.facts.allocated import allocation_of
from gpudx.facts.host_code import kernel_at
from gpudx.facts.open_calls import fatal_call
from gpudx.facts.symbols import Place, pretty
from gpudx.facts.unwind import host_places, host_stack
from gpudx.model import Allocation, Attribution, Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural
from gpudx.text.places import is_installed

ID = "device-pointer-on-host"
CAUSE = Cause(
    id=ID,
    title="The host accessed device memory directly",
    refutes_if="The address is host memory at the time of the access: managed, pinned, or mapped.",
    fix=(
        "Copy the data to the host before the host reads it, or do the work in a kernel.",
        "If both sides need it, allocate managed or pinned memory (slower accesses from the device).",
    ),
    predicts=(("recorded", "the address of the crash is in device memory, and no call was in flight"),),
    kind=FIXED,
)
FAULTS = (signal.SIGSEGV, signal.SIGBUS)
DEVICE = ("device", "pitched", "async")  # families of memory that the host has no access to
FRAMES = 16
OBSERVED = "The crash is at this address, and the host cannot access this memory."
FREED = "The crash is at this address, in device memory that was freed before; nothing else is known to have been there."


@dataclass(frozen=True)
class _Target:
    """What the address belongs to: `label` with size, and the facts that show it."""

    label: str
    what: str  # "which only the device can access"
    offset: int
    site: Site
    evidence: tuple[Evidence, ...]
    allocation: Allocation | None = None
    attribution: Attribution = "this"


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    words = facts.trace.last_words
    if words is None or words.signal not in FAULTS or words.fault_address is None or fatal_call(facts) is not None:
        return
    if kernel_at(facts, words.pc) or _in_driver(facts, words):
        return
    target = _memory(facts, words.address)
    if target is None and _makes_calls(facts, words.tid):  # a driver's own thread may use what it has mapped
        target = _unmapped(facts, words.address)
    if target is not None:
        yield _finding(facts, words, target)


def _in_driver(facts: Facts, words: LastWords) -> bool:
    """A thread of the driver does what it was told to; whose fault that is, other detectors say."""
    place = facts.symbols.locate(words.pc)
    return place is not None and any(place.object.startswith(name) for name in backend_libraries())


def _makes_calls(facts: Facts, tid: int) -> bool:
    return bool((facts.trace.column("tid", np.flatnonzero(~facts.trace.is_note)) == tid).any())


def _memory(facts: Facts, address: int) -> _Target | None:
    end = len(facts.trace)
    row = facts.memory.one(address, end)
    if row < 0 or facts.objects.family(row) not in DEVICE:
        return None
    freed = not facts.memory.live(np.array([row]), np.array([end]))[0]
    memory = allocation_of(facts, row, "freed" if freed else "live")
    born = site_of(facts, int(facts.objects.table["born"][row]))
    made = f", allocated at {os.path.basename(born.source)}" if born.source else ""
    size = plural(int(facts.objects.table["size"][row]), "byte")
    label = f"{facts.objects.label(row)} ({size}{made})"
    evidence = [Evidence(f"{born.call} (call {born.number}) made {facts.objects.label(row)} as device memory", (born.number,))]
    if freed and memory is not None and memory.freed is not None:
        evidence.append(Evidence(f"{memory.freed.call} (call {memory.freed.number}) freed it", (memory.freed.number,)))
    what = "which is device memory that was freed" if freed else "which only the device can access"
    sure: Attribution = "probable" if freed else "this"
    return _Target(label, what, facts.memory.offset(row, address), born, tuple(evidence), memory, sure)


def _unmapped(facts: Facts, address: int) -> _Target | None:
    """A pointer that a map call returned, after the unmap: the latest map that held the address."""
    trace = facts.trace
    maps = [info for info in trace.schema.doing("map") if info.word("result") is not None and info.word("size") is not None]
    found = [(int(p), int(r), int(s)) for info in maps for p, r, s in _ranges(facts, info) if r <= address < r + s]
    if not found:
        return None
    position, first, size = max(found)
    until = next((p for p in _unmaps(facts, first) if p > position), None)
    if until is None:
        return None
    mapped, after = site_of(facts, position), site_of(facts, until)
    evidence = (
        Evidence(f"{mapped.call} (call {mapped.number}) returned {first:#x} for {plural(size, 'byte')}", (mapped.number,)),
        Evidence(f"{after.call} (call {after.number}) unmapped it", (after.number,)),
    )
    label = f"the memory that {mapped.call} (call {mapped.number}) mapped"
    return _Target(label, f"after {after.call} (call {after.number}) unmapped it", address - first, after, evidence)


def _ranges(facts: Facts, info: CallInfo) -> Iterator[tuple[int, int, int]]:
    positions = facts.trace.select(info)
    good = positions[facts.trace.column("status", positions) == 0]
    columns = (facts.trace.field(info, name, good).tolist() for name in ("result", "size"))
    yield from zip(good.tolist(), *columns, strict=True)


def _unmaps(facts: Facts, pointer: int) -> list[int]:
    trace, found = facts.trace, []
    for info in trace.schema.doing("unmap"):
        if info.word("mapped") is not None:
            positions = trace.select(info)
            found += positions[trace.field(info, "mapped", positions) == np.uint64(pointer)].tolist()
    return sorted(found)


def _finding(facts: Facts, words: LastWords, target: _Target) -> Finding:
    frame = _own_frame(host_places(facts.trace))
    access = access_of(words, None)
    verb = {"read": "read", "write": "wrote"}.get(access.kind if access else "", "accessed")
    where = f" at {os.path.basename(frame.source)}" if frame else ""
    function = f"{pretty(frame.function)} (host code)" if frame and frame.function else "Host code"
    much = f"{plural(access.width, 'byte')} of " if access and access.width else ""
    stack = host_stack(facts.trace)
    return Finding(
        id=ID,
        severity="error",
        message=f"{function} {verb} {much}{target.label}{where}, {target.what}.",
        evidence=(
            Evidence(f"the fault address {words.address:#x} is {plural(target.offset, 'byte')} from its start"),
            *target.evidence,
            *((Evidence("the stack, innermost first: " + " < ".join(stack[:FRAMES])),) if stack else ()),
        ),
        others=(target.site,),
        allocation=target.allocation,
        causes=(ID,),
        facts=(("call", target.site.call), ("function", pretty(frame.function) if frame else "")),
        certainty="observed",
        attribution=target.attribution,
        because=FREED if target.attribution != "this" else OBSERVED,
        access=replace(access, by="host", offset=target.offset, source=frame.source if frame else None) if access else None,
        pid=facts.trace.pid,
    )


def _own_frame(places: tuple[Place, ...]) -> Place | None:
    """The innermost frame with a line of the program's own; loops of the standard library only do what they are told."""
    return next((one for one in places if one.source and not is_installed(one.source)), None)
