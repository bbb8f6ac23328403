"""Memory changed under work that was not given it (gpudx run --watch).

The memory of the program is looked at whenever it has waited and all its work is done. What changed since the last look must
have been given to some work of that time: to a launch as an argument that it may write, to a copy or fill as its range, to the
program itself as a map. Bytes that nobody was given were written by a launch that left its own memory. Nothing faults when such
a write lands in another live allocation, and tools that check addresses only see an address that is allowed.

Where several launches ran between two looks, a second run that looks before and after each of them names the one. In APIs
whose kernels know memory by address, a kernel may have an address from memory, too: where one was seen there, this is a warning.

Example:

    cl_mem row = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){ 0, 4096 }, &status);
    cl_mem next = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){ 4096, 4096 }, &status);
    clSetKernelArg(scale, 0, sizeof row, &row);
    size_t items = 1025;                                           // 1,024 floats are in row; the last item writes next[0]
    clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 0, NULL, NULL);

Mend it in the kernel's index or guard, or where the host computes the size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.detectors import Run
from gpudx.detectors._bystanders import Bystander, Neighbour, bystanders
from gpudx.facts import Facts
from gpudx.model import Evidence, Finding, Severity
from gpudx.words import plural

ID = "bystander-changed"
SHOWN = 8


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding for each stretch that changed and was given to nobody."""
    for one in bystanders(facts):
        yield _finding(facts, one)


@dataclass(frozen=True)
class _Words:
    """The parts of the sentences about one bystander."""

    what: str  # "bytes 4,096 to 4,099 of buffer #5 (1,048,576 bytes)"
    given: str  # "which it was not given"


def _finding(facts: Facts, one: Bystander) -> Finding:
    words, only = _words(facts, one), one.only
    site = facts.sites.at(only, argument=one.nearest.argument if one.nearest else None) if only is not None else None
    return Finding(
        id=ID,
        severity=_severity(one),
        message=_message(facts, one, words),
        evidence=(*_seen(facts, one, words), *_suspects(facts, one), *_doubts(one)),
        site=site,
        others=() if site else tuple(facts.sites.at(p) for p in one.suspects[:SHOWN]),
        allocation=facts.objects.label(one.part),
        causes=("write-into-bystander",),
        facts=(
            ("kernel", site.kernel or "?" if site else ""),
            ("first", str(one.first)),
            ("size", str(facts.objects.table["size"][one.root])),
        ),
        details={
            "certain": one.certain,
            "single": only is not None,
            "launches": len(one.suspects),
            "offset": one.first,
            "bytes": one.last - one.first + 1,
            "watch_size": int(facts.objects.table["size"][one.root]),
            "allocation_size": int(facts.objects.table["size"][one.part]),
            "state": "live",
        },
    )


def _severity(one: Bystander) -> Severity:
    """An error only where nothing else that was recorded can have done it."""
    return "error" if one.suspects and not one.doubts else "warning"


# ---- words ----


def _words(facts: Facts, one: Bystander) -> _Words:
    first, last = one.first - one.begin, one.last - one.begin
    where = f"byte {first:,}" if first == last else f"bytes {first:,} to {last:,}"
    size = plural(int(facts.objects.table["size"][one.part]), "byte")
    given = "which it was given only to read" if one.read_only else "which it was not given"
    part = ", in none of its live parts" if one.between_parts else ""
    return _Words(f"{where} of {facts.objects.label(one.part)} ({size}){part}", given)


def _message(facts: Facts, one: Bystander, words: _Words) -> str:
    if one.only is not None:
        site = facts.sites.at(one.only)
        near = f"; {_near(facts, one.nearest)}" if one.nearest else ""
        who = f"Launch {site.launch} of kernel {site.kernel} (call {site.number})"
        return f"{who} changed {words.what}, {words.given}{near}."
    what = words.what[0].upper() + words.what[1:]
    if not one.suspects:
        return f"{what} changed, and no recorded work of that time was given them or can be named."
    many = plural(len(one.suspects), "launch", "launches")
    return f"{what} changed, and none of the {many} of that time was given them to write; one of these wrote outside its memory."


def _near(facts: Facts, near: Neighbour) -> str:
    label = facts.objects.label(near.object)
    where = "begins" if near.behind else "ends"
    side = "after" if near.behind else "before"
    far = f"right {side}" if not near.distance else f"{plural(near.distance, 'byte')} {side}"
    return f"argument {near.argument} ({label}) {where} {far} them"


def _seen(facts: Facts, one: Bystander, words: _Words) -> Iterator[Evidence]:
    change = one.change
    how = "right before and right after the launch" if change.each else "when the program had waited"
    yield Evidence(f"the memory was looked at {how}; in between {words.what} changed")
    yield Evidence(f"the 8 bytes from byte {change.first - one.begin:,} on were {change.was:#x} and are {change.now:#x}")


def _suspects(facts: Facts, one: Bystander) -> Iterator[Evidence]:
    for position in one.suspects[:SHOWN]:
        launch = facts.launches.at_position(position) or 0
        near = one.near.get(position)
        tail = f"; {_near(facts, near)}" if near else ""
        name = facts.launches.name(launch)
        yield Evidence(f"launch {launch + 1} of kernel {name} may have run in between{tail}", (position + 1,))
    if len(one.suspects) > SHOWN:
        yield Evidence(f"{plural(len(one.suspects) - SHOWN, 'other launch', 'other launches')} too")


def _doubts(one: Bystander) -> Iterator[Evidence]:
    for doubt in one.doubts:
        yield Evidence(doubt)
