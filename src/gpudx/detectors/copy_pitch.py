"""Rows of a pitched copy or fill are longer than the distance from one row to the next.

The pitch is the number of bytes from the beginning of a row to that of the next one; the width that is copied must fit into it.
Widths are in bytes; the usual mistakes are a width in elements, and the pitch of the other side. The driver refuses such a copy
with a status that does not say so.

Example:

    cudaMallocPitch(&image, &pitch, width * sizeof(float), height);
    cudaMemcpy2D(image, width, host, width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice);

Fix it by passing the pitch that the allocation returned for the device's side and the row's bytes for the host's.

(CUDA driver API reference, cuMemcpy2D: the pitch must be at least the width plus the first byte's place in its row.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._rejected import answer, rejected
from gpudx.facts import Facts, plus
from gpudx.facts.allocated import allocation_of
from gpudx.facts.ranges import READ
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "copy-pitch"
CAUSE = Cause(
    id=ID,
    title="The rows of a pitched copy are longer than its pitch",
    refutes_if="The width and the offset in the row fit into the pitch.",
    fix=(
        "Give widths and pitches in bytes: the pitch that the allocation returned for the device, the row's bytes for the host.",
    ),
    predicts=(("recorded", "the driver refuses the copy, or the rows overwrite each other"),),
    kind=FIXED,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call, side and sizes; repeats are counted."""
    table = facts.ranges.table
    rows = np.flatnonzero((table["height"] > 1) | (table["layers"] > 1))
    rows = rows[table["pitch"][rows] < plus(table["first"][rows], table["width"][rows])]
    given = table["pitch"][rows] > 0  # with none, the driver says whether it needs one
    rows = rows[given | np.isin(table["position"][rows], rejected(facts))]
    keys = (table[name][rows] for name in ("how", "width", "pitch"))
    for part in groups(rows, facts.trace.call[table["position"][rows]], *keys):
        yield _finding(facts, run, int(part[0]), len(part))


def _finding(facts: Facts, run: Run, row: int, count: int) -> Finding:
    entry, obj = facts.ranges.table[row], int(facts.ranges.object[row])
    site = facts.sites.at(int(entry["position"]), value=int(entry["address"]))
    did = "reads" if entry["how"] == READ else "writes"
    pitch, begin, width = int(entry["pitch"]), int(entry["first"]), int(entry["width"])
    from_ = f" from byte {begin:,} of it on" if begin else ""
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=f"{site.call} {did} {plural(width, 'byte')} of each row{from_}, but a row has only {pitch:,} (its pitch).",
        evidence=(
            Evidence(
                f"width {width:,}, first byte {begin:,}, pitch {pitch:,}, rows {int(entry['height']):,}", (site.number,)
            ),
            *([answer(site)] if site.status else []),
        ),
        site=site,
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("side", did), ("width", str(width)), ("pitch", str(pitch))),
    )
