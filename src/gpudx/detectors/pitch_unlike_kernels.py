"""A copy uses another row pitch for a buffer than the kernels that work on it.

The kernels index the buffer in rows of one length: `image[y * pitch + x]`. A copy that steps through the same buffer in rows of another
length takes each row from a place a little further off than the one before. The call succeeds, since all bytes are inside the buffer.

Example:

    size_t pitch = (width + 63) / 64 * 64;                       // what kernels are passed, and uploads use
    clEnqueueReadBufferRect(queue, image, CL_TRUE, from, to, region, width, 0, 0, 0, tile, 0, NULL, NULL);   // pitch is meant

Fix it by passing the pitch that the kernels are passed, in bytes.

The pitch of host memory is another matter: it is packed in many programs, where the buffer's rows are padded.

Reported only if all kernels that were passed the buffer show this in their source and were passed the same number, the buffer is a whole
number of their rows, and either it is no whole number of rows of the other pitch, or another copy of a buffer of this size uses the pitch
of the kernels.
Not reported: copies of every second row, of a diagonal, and buffers that a kernel indexes in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._words import placed
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.pitches import Box, device_boxes
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "pitch-unlike-kernels"
CAUSE_ID = "transfer-pitch"
MOST_USES = 2000  # launches with a buffer that are looked at
BECAUSE = "The kernels and this copy step through the buffer in rows of different lengths; what the program makes of it is not recorded."


@dataclass(frozen=True)
class Rows:
    """How kernels step through a buffer: bytes from one row to the next, of an element, and the last launch that shows it."""

    pitch: int
    element: int
    launch: int
    argument: int
    name: str


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call of the program and pitch; repeats are counted."""
    found: dict[tuple[int, str, int, int], list[tuple[int, Box, Rows]]] = {}
    for position, name, box in device_boxes(facts):
        rows = _rows_of(facts, box.memory)
        if rows is not None and _is_unlike(facts, box, rows):
            caller = int(facts.trace.column("caller", np.array([position]))[0])
            found.setdefault((caller, name, box.now, rows.pitch), []).append((position, box, rows))
    for (_, name, _, _), same in list(found.items())[:MOST]:
        yield _finding(facts, run, name, same)


def _rows_of(facts: Facts, memory: int) -> Rows | None:
    """None where a kernel is not understood, or kernels differ."""
    launches, table = facts.launches, facts.objects.table
    root = facts.writers.root(memory)[0]
    family = np.flatnonzero((table["parent"] == root) | (np.arange(len(table)) == root))
    arguments = launches.arguments
    given = np.flatnonzero(np.isin(arguments.object, family))
    if len(given) > MOST_USES:
        return None
    found: Rows | None = None
    for at in given.tolist():
        rows = _of_argument(facts, int(arguments.launch[at]), int(arguments.index[at]))
        inside = int(table["offset"][arguments.object[at]]) if int(arguments.object[at]) != root else 0
        if rows is None or inside % rows.pitch or (found is not None and rows.pitch != found.pitch):
            return None
        found = rows
    return found


def _of_argument(facts: Facts, launch: int, index: int) -> Rows | None:
    launches = facts.launches
    strides = facts.kernels.row_strides(int(launches.kernel_row[launch]))
    values = {int(one["index"]): one for one in launches.values(launch)} if strides else {}
    declared = values[index]["declared"] if index in values else None
    stride = strides.get(declared.name) if declared else None
    number = next((one for one in values.values() if stride and one["declared"] and one["declared"].name == stride), None)
    if declared is None or number is None or not declared.element or number["size"] not in (4, 8) or any(launches.offset(launch)):
        return None
    count = int.from_bytes(number["bytes"], "little")
    return Rows(count * declared.element, declared.element, launch, int(number["index"]), str(stride)) if count else None


def _is_unlike(facts: Facts, box: Box, rows: Rows) -> bool:
    """Can the pitch not be meant: neither rows that are left out, nor single elements?"""
    size = int(facts.objects.table["size"][box.memory])
    wide = box.region[0] > rows.element and box.region[0] <= rows.pitch
    if box.now % rows.pitch == 0 or not wide or size % rows.pitch:
        return False
    return bool(size % box.now) or _agreeing(facts, box, rows) is not None


def _agreeing(facts: Facts, box: Box, rows: Rows) -> int | None:
    """Another copy of this buffer, or of one that is as large, that uses the kernels' pitch."""
    size = facts.objects.table["size"]
    return next((at for at, _, one in device_boxes(facts) if one.now == rows.pitch and size[one.memory] == size[box.memory]), None)


def _finding(facts: Facts, run: Run, name: str, same: list[tuple[int, Box, Rows]]) -> Finding:
    position, box, rows = same[0]
    site, launched = facts.sites.at(position), facts.sites.at(int(facts.launches.position[rows.launch]), argument=rows.argument)
    label, size = facts.objects.label(box.memory), int(facts.objects.table["size"][box.memory])
    agreeing = _agreeing(facts, box, rows)
    words = name.replace("_", " ")
    given = f"{box.now:,} bytes" if box.given else f"0, which stands for {box.now:,} bytes,"
    evidence = [
        Evidence(
            f"kernel {launched.kernel} (launch {launched.launch}) is passed {rows.pitch // rows.element:,} as argument {rows.argument} "
            f"(`{rows.name}`), and multiplies get_global_id(1) with it",
            (launched.number,),
        ),
        Evidence(f"{label} has {size:,} bytes = {size // rows.pitch:,} rows of {rows.pitch:,}", (site.number,)),
    ]
    if agreeing is not None:
        other = facts.sites.at(agreeing)
        evidence.insert(1, Evidence(f"{placed(other)} uses {rows.pitch:,} bytes", (other.number,)))
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=(
            f"{site.call} (call {site.number}) is passed a {words} of {given} for {label}, which kernel {launched.kernel} indexes in rows "
            f"of {plural(rows.pitch, 'byte')}."
        ),
        evidence=tuple(evidence),
        site=site,
        others=(launched,),
        count=len(same),
        allocation=allocation_of(facts, box.memory),
        causes=(CAUSE_ID,),
        because=BECAUSE,
        steps=(f"Pass {rows.pitch:,} as {words}: the distance of rows in the buffer, in bytes.",),
        facts=(("call", site.call), ("pitch", str(box.now)), ("wanted", str(rows.pitch))),
    )
