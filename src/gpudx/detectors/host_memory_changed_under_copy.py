"""Host memory was freed or overwritten while a copy might still be using it.

A copy that the host does not wait for reads or writes the host's memory later. Until the copy is complete, the memory must not
change. Otherwise the device gets the wrong data, or the copy overwrites whatever is there by then; whether this happens is a
matter of timing.

Example:

    void upload(cl_mem buffer) {
        float table[64] = { ... };
        clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof table, table, 0, NULL, NULL);
    }                                                   // the table is gone, the copy may not have begun

Fix it by waiting for the copy (or making it blocking) before the memory is freed or reused, or by giving each copy its own
memory.

Four cases are reported:

- The source of a copy had changed, or was gone, at the first wait after the copy. Some of its bytes are compared. A program may fill a
  source until it completes the user event that the copy waits for.
- The memory was a local variable of a function that had returned. With OpenCL the stack pointers of the copying thread's calls show this.
- Another copy or fill uses the same bytes, nothing orders the two, and one of them writes.
- Memory that was allocated or registered for the device was freed or unregistered. This is a warning, because the driver may wait there,
  although no specification says so.

Not reported: memory whose copy was waited for, or may have been (its event was queried, or has a callback); and ordinary memory in CUDA,
which drivers stage or wait for in the copying call itself, although newer manuals only allow this (CUDA driver API reference, "API
synchronization behavior").

Not seen: what the program's own code reads, bytes of a source that are not among those compared, and destinations that are freed with
free(). (OpenCL 3.0 API specification, clEnqueueReadBuffer and clEnqueueWriteBuffer: without blocking, the memory cannot be used or reused
until the command is complete.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._host_pairs import unordered_pairs
from gpudx.detectors._left_frames import left
from gpudx.detectors._sources import changed_sources
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.objects import NEVER
from gpudx.facts.ranges import WRITE
from gpudx.model import Cause, Evidence, Finding, Severity, Site
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import plural

ID = "host-memory-changed-under-copy"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="Host memory was freed or overwritten while a copy might still be using it",
    refutes_if="The data is still wrong with a wait right after the copy.",
    fix=(
        "Wait for the copy before you free or reuse its host memory, or make the copy blocking.",
        "Give each copy its own host memory until it is complete.",
    ),
    predicts=(("recorded", "the memory is freed or overwritten before anything waits for the copy"),),
    kind=LIFETIME,
)
I64 = NDArray[np.int64]
Make = Callable[[Facts, int, int, int], Finding]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per place of the copy and way; repeats are counted."""
    if len(facts.host_copies):
        returned = _still_open(facts, left(facts))
        changed = _still_open(facts, changed_sources(facts))
        differed = {int(row): int(later) for row, later in changed}
        yield from _told(facts, returned, partial(_returned, differed))
        yield from _told(facts, _without(changed, {int(row) for row in returned[:, 0]}), _changed)
        yield from _told(facts, _still_open(facts, _freed(facts)), _given_up)
        yield from _told(facts, unordered_pairs(facts), _written)


def _without(pairs: I64, rows: set[int]) -> I64:
    """Of one copy, one way is enough: a local variable that is gone is also why its bytes changed."""
    return pairs[[int(row) not in rows for row in pairs[:, 0]]] if len(pairs) else pairs


def _still_open(facts: Facts, pairs: I64) -> I64:
    """Those of the (row, later position) whose copy nothing had waited for by then."""
    if not len(pairs):
        return pairs
    table = facts.host_copies.table[pairs[:, 0]]
    copies = facts.happens.op_at(table["position"])
    known = copies >= 0
    known[known] = ~facts.happens.done_before_host(copies[known], pairs[known, 1])
    return pairs[known]


def _freed(facts: Facts) -> I64:
    """(row, position of the call that freed or unregistered the memory)."""
    table = facts.host_copies.table
    rows = np.flatnonzero((table["object"] >= 0) & ~table["blocking"])
    died = facts.objects.table["died"][table["object"][rows]]
    return np.stack([rows, died], axis=1)[died < NEVER]


def _told(facts: Facts, pairs: I64, finding: Make) -> Iterator[Finding]:
    positions = facts.host_copies.table["position"][pairs[:, 0]]
    places = facts.trace.column("caller", positions).view(np.int64)
    for part in groups(np.arange(len(pairs)), facts.trace.call[positions], places):
        yield finding(facts, int(pairs[part[0], 0]), int(pairs[part[0], 1]), len(part))


def _does(facts: Facts, row: int) -> str:
    return "write" if facts.host_copies.table["how"][row] == WRITE else "read"


def _changed(facts: Facts, row: int, later: int, count: int) -> Finding:
    entry = facts.host_copies.table[row]
    copy, other = sites_of(facts, [int(entry["position"]), later])
    again = facts.host_copies.again_from(int(entry["position"]))
    same = ", which copies from it too," if later in again else ""
    message = (
        f"The host memory that {copy.call} (call {copy.number}) reads had changed when {other.call} (call {other.number}){same} began, "
        f"and nothing had waited for the copy."
    )
    size, where = plural(int(entry["size"]), "byte"), f"{int(entry['address']):#x}"
    every = f" ({len(again) + 1:,} copies in all)" if len(again) > 1 else ""
    reused = [Evidence(f"calls {copy.number} and {other.number} are passed the same host pointer{every}", (copy.number, other.number))]
    evidence = (
        Evidence(f"the copy may read {size} at {where} until it is complete{_line(copy)}", (copy.number,)),
        _difference(other),
        *(reused if later in again else ()),
    )
    return _finding(facts, row, later, "error", message, evidence, count)


def _difference(site: Site) -> Evidence:
    return Evidence(f"some of these bytes had changed, or were gone, when call {site.number} began{_line(site)}", (site.number,))


def _line(site: Site) -> str:
    return f", from {site.source}" if site.source else ""


def _returned(differed: Mapping[int, int], facts: Facts, row: int, later: int, count: int) -> Finding:
    """`differed`: the copies whose source had changed, and the call at which it had."""
    entry = facts.host_copies.table[row]
    size = f"{plural(int(entry['size']), 'byte')} of " if entry["size"] else ""
    copy, other = sites_of(facts, [int(entry["position"]), later])
    message = (
        f"{copy.call} (call {copy.number}) {_does(facts, row)}s {size}a local variable, and its function had returned by call "
        f"{other.number} ({other.call}) before anything waited for the copy."
    )
    in_stack, out = (f"the stack ended at {_pointer(facts, one)}" for one in (copy, other))
    evidence = (
        Evidence(f"at call {copy.number} {in_stack}, below the variable at {int(entry['address']):#x}", (copy.number,)),
        Evidence(f"at call {other.number} of the same thread {out}, above the variable", (other.number,)),
        *([_difference(facts.sites.at(differed[row]))] if row in differed else []),
    )
    return _finding(facts, row, later, "error", message, evidence, count)


def _pointer(facts: Facts, site: Site) -> str:
    return f"{facts.trace.record(site.number - 1)['stack']:#x}"


def _given_up(facts: Facts, row: int, later: int, count: int) -> Finding:
    entry = facts.host_copies.table[row]
    label = facts.objects.label(int(entry["object"]))
    copy, other = sites_of(facts, [int(entry["position"]), later])
    message = (
        f"{other.call} (call {other.number}) freed {label} while {copy.call} (call {copy.number}) may still "
        f"{_does(facts, row)} it, and nothing promises that {other.call} waits for the copy."
    )
    evidence = (
        Evidence(f"the copy works on {facts.memory.describe(int(entry['object']))}", (copy.number,)),
        Evidence("no recorded wait in between covers the copy", (copy.number, other.number)),
    )
    return _finding(facts, row, later, "warning", message, evidence, count)


def _written(facts: Facts, row: int, later: int, count: int) -> Finding:
    entry = facts.host_copies.table[row]
    copy, other = sites_of(facts, [int(entry["position"]), later])
    message = (
        f"{copy.call} (call {copy.number}) and {other.call} (call {other.number}) work on the same host memory, one of "
        f"them writes it, and nothing orders them."
    )
    size, where = plural(int(entry["size"]), "byte"), f"{int(entry['address']):#x}"
    evidence = (
        Evidence(f"the first may {_does(facts, row)} {size} at {where} until it is done", (copy.number,)),
        Evidence(
            "neither waits for the other, and the host waited for neither in between", (copy.number, other.number)
        ),
    )
    return _finding(facts, row, later, "error", message, evidence, count)


def _finding(
    facts: Facts, row: int, later: int, severity: Severity, message: str, evidence: tuple[Evidence, ...], count: int
) -> Finding:
    entry = facts.host_copies.table[row]
    copy, other = sites_of(facts, [int(entry["position"]), later])
    return Finding(
        id=ID,
        severity=severity,
        message=message,
        evidence=evidence,
        site=copy,
        others=(other,),
        count=count,
        allocation=allocation_of(facts, int(entry["object"])),
        causes=(ID,),
        facts=(("call", copy.call), ("later", other.call)),
    )
