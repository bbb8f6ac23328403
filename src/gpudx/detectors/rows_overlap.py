"""Copies that fill a buffer row by row overlap: the offset of a row is less than a row behind the one before.

Each copy overwrites the end of the row before, and the end of the buffer is never written. So it is where the offset is computed with
the number of rows instead of the length of a row, or with the element count of another type.

Example:

    cl_mem table = clCreateBuffer(context, CL_MEM_READ_WRITE, rows * cols * sizeof(float), NULL, &status);
    for (size_t row = 0; row < rows; row++)
        clEnqueueCopyBuffer(queue, line, table, 0, row * rows * sizeof(float), cols * sizeof(float), 0, NULL, NULL);

Fix it by computing the offset of a row with the length of a row.

Reported only where the buffer has the size of all the rows side by side, and nothing uses it before all of them are copied: windows that
overlap on purpose, rings and halos need less, and what was used may be overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.facts.accesses import MAY, WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "rows-overlap"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="Copies that fill a buffer row by row overlap",
    refutes_if="The rows are meant to overlap, and the end of the buffer is not used.",
    fix=("Compute the offset of a row with the length of a row.",),
    predicts=(("recorded", "each copy begins before the end of the one before"),),
    kind=FIXED,
)
BECAUSE = "The buffer has the size of these rows side by side; it is inferred that they were not meant to overlap."
FEWEST = 8  # copies
ELEMENTS = (1, 2, 4, 8, 16)  # bytes
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class _Rows:
    memory: int
    positions: I64
    width: int
    step: int

    @property
    def end(self) -> int:
        return self.step * (len(self.positions) - 1) + self.width


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per buffer."""
    told: set[int] = set()
    for rows in _series(facts):
        if rows.memory not in told and _fills(facts, rows) and not _used_otherwise(facts, rows):
            told.add(rows.memory)
            yield _finding(facts, rows)


def _series(facts: Facts) -> Iterator[_Rows]:
    """Copies of one line of the program into one buffer, in equal steps from its beginning, each shorter than the copy."""
    trace, table = facts.trace, uses(facts)
    plain = [c.number for c in trace.schema.doing("copy") if c.word("size") is not None and "region" not in c.arrays]
    sure = ((table["how"] & WRITE) != 0) & ((table["how"] & MAY) == 0) & np.isin(trace.call[table["position"]], plain)
    table = table[sure]
    caller = trace.column("caller", table["position"])
    for part in groups(np.arange(len(table)), table["object"], trace.call[table["position"]], caller):
        mine = table[part]
        begin, width = mine["begin"].astype(np.int64), (mine["end"] - mine["begin"]).astype(np.int64)
        if len(mine) < FEWEST or begin[0] or (width != width[0]).any():
            continue
        step = np.diff(begin)
        if (step == step[0]).all() and 0 < step[0] < width[0]:
            yield _Rows(int(mine["object"][0]), mine["position"], int(width[0]), int(step[0]))


def _fills(facts: Facts, rows: _Rows) -> bool:
    """Would the rows fill the buffer if they lay side by side?"""
    return int(facts.objects.table["size"][rows.memory]) == len(rows.positions) * rows.width


def _used_otherwise(facts: Facts, rows: _Rows) -> bool:
    """Does something else write the buffer once the rows have begun, or use it before all are there? What was used may be overwritten."""
    table = uses(facts)
    other = table[(table["object"] == rows.memory) & (table["position"] > rows.positions[0]) & ~np.isin(table["position"], rows.positions)]
    return bool((((other["how"] & WRITE) != 0) | (other["position"] < rows.positions[-1])).any())


def _finding(facts: Facts, rows: _Rows) -> Finding:
    site, count = facts.sites.at(int(rows.positions[1])), len(rows.positions)
    label, size = facts.objects.label(rows.memory), int(facts.objects.table["size"][rows.memory])
    return Finding(
        id=ID,
        severity="error",
        message=f"{count:,} calls of {site.call} copy {plural(rows.width, 'byte')} each into {label}, every {rows.step:,} bytes: each "
        f"overwrites the last {rows.width - rows.step:,} bytes of the one before.",
        evidence=tuple(_evidence(rows, size, site.number)),
        site=site,
        count=count,
        allocation=allocation_of(facts, rows.memory),
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        facts=(("call", site.call), ("step", str(rows.step)), ("width", str(rows.width))),
        steps=(f"Compute the offsets with {plural(rows.width, 'byte')} for each row, not {rows.step:,}.",),
    )


def _evidence(rows: _Rows, size: int, number: int) -> Iterator[Evidence]:
    count = len(rows.positions)
    yield Evidence(f"the buffer has {size:,} bytes = {count:,} x {rows.width:,}: room for all rows side by side", (number,))
    yield Evidence(f"the last {size - rows.end:,} bytes of it are not written by these calls or after them")
    for element in ELEMENTS:
        if rows.step == count * element and rows.width % element == 0:
            yield Evidence(
                f"{rows.step:,} = {count:,} x {element}, the number of rows times {element} bytes; a row has {rows.width // element:,} "
                f"values of {element} bytes"
            )
