"""A copy or fill was passed host memory where it takes device memory, or the other way round.

The direction of a copy is part of the call. An address of the wrong kind is refused with a status that does not say
which side is wrong, or the driver dies while it reads the memory.

Example:

    std::vector<float> result(n);
    cudaMemcpy(result.data(), out, bytes, cudaMemcpyHostToDevice);       // the other way

Fix it by giving the destination first and the source second, with the direction that fits them.

Reported only where the driver refused the call or died in it. Managed, registered and pinned memory can be on either side, and
so can ordinary memory on devices that reach it: those are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._ordinary import ordinary, out_of_reach
from gpudx.detectors._rejected import answer, rejected
from gpudx.facts import Facts
from gpudx.facts.objects import FAMILIES
from gpudx.facts.ranges import READ
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "copy-direction"
CAUSE = Cause(
    id=ID,
    title="A copy was passed host memory for device memory, or the reverse",
    refutes_if="Each side of the copy is memory of the kind that the call takes there.",
    fix=("Give the destination first and the source second, with the direction that fits the two.",),
    predicts=(("recorded", "the driver refuses the copy or crashes in it"),),
    kind=FIXED,
)
DEVICE_ONLY = [FAMILIES.index(name) for name in ("device", "pitched", "async")]
LOOKED_AT = 16  # calls made at one place


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and place it was made at; repeats are counted."""
    table, ranges = facts.ranges.table, facts.ranges
    rows = np.flatnonzero(np.isin(table["position"], rejected(facts)))
    family = np.append(facts.objects.table["family"], 0)[ranges.object[rows]]
    on_device = table["host"][rows] & ranges.live[rows] & np.isin(family, DEVICE_ONLY)
    unknown = table["device"][rows] & (ranges.object[rows] < 0)
    positions = np.unique(table["position"][rows[on_device | unknown]])
    for part in groups(positions, facts.trace.call[positions], facts.trace.column("caller", positions)):
        sides = [(int(p), _wrong_sides(facts, int(p))) for p in part[:LOOKED_AT]]
        found = next(((position, said) for position, said in sides if said), None)
        if found:
            yield _finding(facts, run, *found, len(part))


def _wrong_sides(facts: Facts, position: int) -> list[str]:
    """Completes "the call was given ..." for each side whose memory is of the other kind."""
    told = [_wrong(facts, position, int(row)) for row in facts.ranges.at(position)]
    return [text for text in told if text]


def _wrong(facts: Facts, position: int, row: int) -> str:
    entry, obj = facts.ranges.table[row], int(facts.ranges.object[row])
    side = "source" if entry["how"] == READ else "destination"
    if entry["host"] and facts.ranges.live[row] and facts.objects.table["family"][obj] in DEVICE_ONLY:
        return f"{facts.objects.label(obj)}, which is device memory, as its {side}, which must be host memory"
    where = ordinary(facts, int(entry["address"])) if entry["device"] and obj < 0 else None
    if where and out_of_reach(facts, position):
        return f"an address {where} as its {side}, which must be device memory"
    return ""


def _finding(facts: Facts, run: Run, position: int, sides: list[str], count: int) -> Finding:
    site = facts.sites.at(position)
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=f"{site.call} was passed {', and '.join(sides)}.",
        evidence=(answer(site), *(Evidence(f"it was passed {text}", (site.number,)) for text in sides)),
        site=site,
        count=count,
        causes=(ID,),
        facts=(("call", site.call), ("sides", " ".join("device" if "is device" in s else "host" for s in sides))),
    )
