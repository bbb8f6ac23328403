"""Memory was freed by an address or with a call that does not fit it.

A free takes the exact address that the allocation returned, and each kind of memory has its own call to free it. The driver
refuses anything else with a status that does not say why, and the memory stays allocated.

Example:

    cudaMallocHost(&staging, bytes);
    cudaFree(staging);                       // pinned host memory: cudaFreeHost
    cudaFree(buffer + offset);               // not the address that cudaMalloc returned

Fix it by keeping the address and the kind of each allocation beside it, and by freeing it once with the call for that
kind.

Memory that is freed a second time is reported as use-of-released-object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._ordinary import ordinary
from gpudx.detectors._rejected import answer, rejected
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "wrong-free"
CAUSE = Cause(
    id=ID,
    title="Memory was freed by an address or with a call that does not fit it",
    refutes_if="The address is one that an allocation of this call's kind returned, and is freed for the first time.",
    fix=("Keep the address and the kind of each allocation, and free it once with the call for that kind.",),
    predicts=(("recorded", "the driver refuses the free, and the memory stays allocated"),),
    kind=FIXED,
)
LOOKED_AT = 16  # calls made at one place


@dataclass(frozen=True)
class _Reason:
    """Why an address cannot be freed by a call. `text` completes "it was given ..."."""

    kind: str
    text: str
    object: int = -1


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and place it was made at; repeats are counted."""
    frees = tuple(c for c in facts.trace.schema.calls if c.frees)
    positions = np.intersect1d(facts.trace.select(frees), rejected(facts))
    for part in groups(positions, facts.trace.call[positions], facts.trace.column("caller", positions)):
        looked = ((int(p), _reason(facts, int(p))) for p in part[:LOOKED_AT])
        found = next(((position, reason) for position, reason in looked if reason), None)
        if found:
            yield _finding(facts, run, *found, len(part))


def _reason(facts: Facts, position: int) -> _Reason | None:
    """None for null, for a second free, and where nothing that was recorded is wrong."""
    info, value = facts.trace.info(position), facts.trace.record(position)["mem"]
    row = facts.memory.one(value, position) if value else -1
    if row < 0:
        where = ordinary(facts, value) if value else None
        return _Reason("host", f"an address {where}, which no recorded call returned") if where else None
    label, offset = facts.objects.label(row), facts.memory.offset(row, value)
    live = facts.objects.state(row, position) == "live"
    if offset:
        whose = label if live else f"{label}, which had been freed"
        return _Reason("inside", f"an address {plural(offset, 'byte')} into {whose}, not its beginning", row)
    if live and facts.objects.family(row) not in info.frees:
        return _Reason("family", _made(facts, row, label), row)
    return None


def _made(facts: Facts, row: int, label: str) -> str:
    """By which call memory was made, and which calls free it."""
    maker = facts.trace.info(int(facts.objects.table["born"][row]))
    fitting = [c.name for c in facts.trace.schema.calls if facts.objects.family(row) in c.frees and c.api == maker.api]
    by = f"; {' or '.join(fitting)} frees that" if fitting else "; no call frees that alone"
    return f"{label}, which {maker.name} made{by}"


def _finding(facts: Facts, run: Run, position: int, reason: _Reason, count: int) -> Finding:
    site = facts.sites.at(position, value=facts.trace.record(position)["mem"])
    row = reason.object
    made = (int(facts.objects.table["born"][row]) + 1,) if row >= 0 else ()
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=f"{site.call} was passed {reason.text}.",
        evidence=(answer(site), Evidence(f"{site.value} is {reason.text}", (*made, site.number))),
        site=site,
        count=count,
        allocation=allocation_of(facts, row, facts.objects.state(row, position) if row >= 0 else ""),
        causes=(ID,),
        facts=(("call", site.call), ("reason", reason.kind)),
    )
