"""The host waits in a loop of its own for mapped memory to change, and no command is left that could change it.

The map has returned and every command that may write the buffer is complete, so the loop never ends: it looks at another element, or for
another value, than the kernel writes. What a kernel writes into a buffer that is mapped need not be visible to the host either (OpenCL
3.0 API specification, clEnqueueMapBuffer): waiting for an event is what synchronizes.

Example:

    volatile int *done = clEnqueueMapBuffer(queue, flags, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &status);
    while (!done[phase + 1])                             // the kernel sets done[phase]
        ;

Fix it by comparing the element and the value with what the kernel stores, or by waiting for the kernel's event instead.

Reported where the thread was seen in the program's own code with an address inside the mapped memory in its hands, and no other thread
of the program may change it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._in_flight import all_pending
from gpudx.detectors._words import placed
from gpudx.detectors.hang import is_stopped
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.crumbs import State
from gpudx.facts.given_memory import uses
from gpudx.facts.host_threads import HostThread, host_threads
from gpudx.facts.stuck import launch_facts, work_name
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "host-waits-for-mapped-memory"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="The host waits for mapped memory that no command changes any more",
    refutes_if="The loop ends on its own with a larger --timeout.",
    fix=(
        "Compare the element and the value that the loop waits for with what the kernel stores.",
        "Wait for the kernel's event instead of looking at memory while it is mapped.",
    ),
    predicts=(("recorded", "all commands that may write the buffer are complete, and the host still waits for it"),),
    kind=FIXED,
)
BECAUSE = "The thread was seen in this loop, and all work that could end it was complete."
NEARBY = "The function that the thread was seen in holds such an address; it is not shown that its loop looks at this memory."


@dataclass(frozen=True)
class _Mapped:
    position: int  # of the call that mapped it
    memory: int
    begin: int
    size: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    if facts.trace.gaps or len(facts.in_flight) or not is_stopped(facts, run, []):
        return
    threads = host_threads(facts)
    if len(threads) != 1 or not threads[0].polls:
        return
    held = [one for one in _mapped(facts) if any(one.begin <= word < one.begin + one.size for word in threads[0].words)]
    if len(held) == 1 and not (set(_writers(facts, held[0])) & _open(facts)) and not _may_change_unseen(facts):
        yield _finding(facts, held[0], threads[0])


def _mapped(facts: Facts) -> list[_Mapped]:
    """What is mapped when the record ends."""
    trace, table = facts.trace, uses(facts)
    calls = [c for c in trace.schema.doing("unmap") if c.word("mapped") is not None]
    gone = [(p, trace.record(p)["mapped"]) for c in calls for p in trace.select(c).tolist()]
    found = []
    for info in trace.schema.doing("map"):
        if info.word("result") is None or info.word("size") is None:
            continue
        for position in trace.select(info).tolist():
            words, mine = trace.record(position), table[table["position"] == position]
            if words["result"] and len(mine) and not any(p > position and address == words["result"] for p, address in gone):
                found.append(_Mapped(position, int(mine[0]["object"]), words["result"], words["size"]))
    return found


def _writers(facts: Facts, one: _Mapped) -> list[int]:
    """Positions of commands that may write the buffer, beside the map."""
    table = uses(facts)
    mine = table[(table["object"] == one.memory) & ((table["how"] & WRITE) != 0)]
    commands = [int(p) for p in np.unique(mine["position"])]
    return [p for p in commands if facts.trace.info(p).does in ("launch", "copy", "fill")]


def _open(facts: Facts) -> set[int]:
    """Commands that are not known to be complete."""
    pending = all_pending(facts)
    return set(pending[facts.crumbs.at(pending) != State.DONE].tolist())


def _may_change_unseen(facts: Facts) -> bool:
    """Is there work left whose memory is not recorded?"""
    return any(facts.trace.info(p).does not in ("launch", "copy", "fill", "map", "unmap") for p in _open(facts))


def _finding(facts: Facts, one: _Mapped, thread: HostThread) -> Finding:
    looked_at = any(one.begin <= word < one.begin + one.size for word in thread.registers)
    site = facts.sites.at(one.position)
    label, writers = facts.objects.label(one.memory), _writers(facts, one)
    last = f"{work_name(facts, writers[-1])}, the last one that may write it, is complete" if writers else "no command writes it"
    return Finding(
        id=ID,
        severity="error",
        message=f"The program hung in its own code: a loop waits for mapped memory ({label}) to change, and no command is left that "
        f"changes it: {last}.",
        evidence=tuple(_evidence(facts, one, thread, writers)),
        site=replace(site, source=thread.source, through=None, host_stack=thread.stack),
        others=(site, *(facts.sites.at(p) for p in writers[-1:])),
        allocation=allocation_of(facts, one.memory),
        causes=(ID,),
        facts=(("call", site.call), ("function", thread.function)),
        because=BECAUSE if looked_at else NEARBY,
        inevitable=looked_at,
    )


def _evidence(facts: Facts, one: _Mapped, thread: HostThread, writers: list[int]) -> Iterator[Evidence]:
    site, launches = facts.sites.at(one.position), len(facts.launches)
    yield Evidence(f"{placed(site)} mapped {one.size:,} bytes and has returned", (site.number,))
    if launches and not _open(facts):
        yield Evidence(f"{plural(launches, 'launch was', 'launches were')} recorded, and all commands are complete")
    for position in writers[-1:]:
        given = [told.text for told in launch_facts(facts, position) if told.text.startswith("arguments")]
        yield from (Evidence(f"{work_name(facts, position).partition(' (')[0]}: {text}", (position + 1,)) for text in given)
    yield Evidence(f"the thread is in {thread.function}, which holds an address inside the mapped memory")
