"""A launch or copy used a buffer that the host still had mapped for writing.

While a buffer is mapped for writing, its content belongs to the host: what commands read from it or write to it is undefined until
it is unmapped. Drivers that share memory with the host hide the mistake; others lose the host's data or the kernel's.

Example:

    float *p = clEnqueueMapBuffer(queue, x, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &status);
    fill(p);
    clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, NULL, 0, NULL, NULL);       // x is not unmapped yet

Fix it by enqueueing the unmap before the commands that use the buffer.

Not reported: buffers that are mapped for reading only, commands that use a part of the buffer that is not mapped, and mapped
memory that is only the host side of a transfer. (OpenCL 3.0 API specification, "Accessing mapped regions of a memory object".)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED

ID = "buffer-used-while-mapped"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="A buffer was used while it was mapped for writing",
    refutes_if="The buffer was unmapped before the command was enqueued.",
    fix=("Enqueue the unmap before the commands that use the buffer, in the same queue or with an event between them.",),
    predicts=(("recorded", "there is no unmap between the map and the command that uses the buffer"),),
    kind=FIXED,
)
FOR_WRITING = 2 | 4  # cl_map_flags, as recorded: write, write and invalidate
LOOKED_AT = 128  # maps: what a program does with its buffers, it does early and again and again


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per buffer: the first command that uses it while it is mapped."""
    told: set[int] = set()
    for at in _maps_for_writing(facts)[:LOOKED_AT]:
        use = _first_use(facts, at)
        if use is not None and int(use["object"]) not in told:
            told.add(int(use["object"]))
            yield _finding(facts, at, use)


def _maps_for_writing(facts: Facts) -> list[int]:
    trace, found = facts.trace, []
    for info in trace.schema.doing("map"):
        if info.word("flags") is None or info.word("result") is None or not info.maps:
            continue
        positions = trace.select(info)
        good = (trace.column("status", positions) == 0) & ((trace.field(info, "flags", positions) & np.uint64(FOR_WRITING)) != 0)
        found += [int(p) for p in positions[good]]
    return sorted(found)


def _first_use(facts: Facts, at: int) -> np.void | None:
    """The first launch, copy or fill after the map that touches what is mapped, before the unmap."""
    table = uses(facts)
    mine = table[table["position"] == at]
    if not len(mine):
        return None
    until = _unmapped(facts, at)
    later = table[(table["position"] > at) & (table["position"] < until) & (table["object"] == mine[0]["object"])]
    later = later[(later["begin"] < mine[0]["end"]) & (mine[0]["begin"] < later["end"])]
    commands = [use for use in later if facts.trace.info(int(use["position"])).does in ("launch", "copy", "fill")]
    return commands[0] if commands else None


def mapped_for_writing(facts: Facts, obj: int, position: int) -> int | None:
    """The call that had a buffer (a row of objects) mapped for writing when a command was enqueued."""
    maps = [at for at in _maps_for_writing(facts) if at < position < _unmapped(facts, at)][:LOOKED_AT]
    table = uses(facts)
    return next((at for at in maps if obj in table["object"][table["position"] == at]), None)


def message(facts: Facts, site: Site, obj: int, at: int) -> str:
    """ "Kernel k (launch 1, argument 0) used buffer #1 while ... (call 23) had it mapped for writing: ..."."""
    who = f"Kernel {site.kernel} (launch {site.launch}, argument {site.argument})" if site.kernel else f"{site.call} (call {site.number})"
    mapped, label = facts.sites.at(at), facts.objects.label(obj)
    return f"{who} used {label} while {mapped.call} (call {mapped.number}) had it mapped for writing: {_after(facts, at)}."


def _after(facts: Facts, at: int) -> str:
    until = _unmapped(facts, at)
    return f"call {until + 1} unmapped it only afterwards" if until < len(facts.trace) else "it was never unmapped"


def _unmapped(facts: Facts, at: int) -> int:
    """The call that unmaps it, or the end of the trace."""
    trace, pointer = facts.trace, facts.trace.record(at).get("result", 0)
    for info in trace.schema.doing("unmap"):
        if info.word("mapped") is None:
            continue
        positions = trace.select(info)
        later = positions[(positions > at) & (trace.field(info, "mapped", positions) == np.uint64(pointer))]
        if len(later):
            return int(later[0])
    return len(trace)


def _finding(facts: Facts, at: int, use: np.void) -> Finding:
    argument = int(use["argument"]) if use["argument"] >= 0 else None
    site, mapped = facts.sites.at(int(use["position"]), argument=argument), facts.sites.at(at)
    label = facts.objects.label(int(use["object"]))
    return Finding(
        id=ID,
        severity="error",
        message=message(facts, site, int(use["object"]), at),
        evidence=(
            Evidence(f"call {mapped.number} mapped {label} for writing", (mapped.number,)),
            Evidence(_after(facts, at), (site.number,)),
        ),
        site=site,
        others=(mapped,),
        allocation=allocation_of(facts, int(use["object"])),
        causes=(ID,),
        facts=(("call", site.call), ("kernel", site.kernel or ""), ("argument", str(argument))),
    )
