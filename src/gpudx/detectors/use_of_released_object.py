"""A call was passed an object that the program had released before.

Dropping the last reference ends an object. Its handle is the address of memory that the driver may have given back or
handed out again: the next call that uses it works on another object, fails with an odd status, or crashes. Often
nothing happens for years, because the memory still looks as before.

Example:

    clReleaseMemObject(buffer);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, out, 0, NULL, NULL);

Fix it by releasing the object after its last use, or by keeping a reference for each owner.

An object that others still hold is not gone: a kernel holds its program, a sub-buffer its buffer, everything its
context. Objects that are still set as arguments are `released-while-bound`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._handles import Misused, misused
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import capital

ID = "use-of-released-object"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="An object was used after the program released it",
    refutes_if="Another reference was held at the time of use (a retain, or a release that came later).",
    fix=("Release the object after its last use, or retain it for as long as the other user needs it.",),
    predicts=(("recorded", "the handle is used after its last release"),),
    kind=LIFETIME,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and parameter; repeats are counted."""
    for found in misused(facts):
        rows = np.flatnonzero(found.dead)
        kinds = facts.objects.table["kind"][found.row[rows]]
        for part in groups(rows, kinds):
            yield _finding(facts, found, part)


def _first(facts: Facts, found: Misused, part: np.typing.NDArray[np.int64]) -> int:
    """The use that never returned, else the first."""
    open_ = part[facts.trace.column("end", found.position[part]) == 0]
    return int(open_[0] if len(open_) else part[0])


def _finding(facts: Facts, found: Misused, part: np.typing.NDArray[np.int64]) -> Finding:
    objects, at = facts.objects, _first(facts, found, part)
    row, position = int(found.row[at]), int(found.position[at])
    label, died = objects.label(row), int(objects.table["died"][row])
    site = facts.sites.at(position, value=int(found.value[at]))
    others = sites_of(facts, [died])
    again = "released it once more" if found.info.does == "release" else f"was passed it as {found.field}"
    by = f"{others[0].call}, call {died + 1}"
    return Finding(
        id=ID,
        severity="error",
        message=f"{capital(label)} had been released ({by}) when {site.call} {again}.",
        evidence=(
            Evidence(f"{others[0].call} dropped the last reference to {label}", (died + 1,)),
            Evidence(f"{site.call} used its handle {site.value} afterwards", (site.number,)),
        ),
        site=site,
        others=others,
        count=len(part),
        allocation=allocation_of(facts, row, "released"),
        causes=(ID,),
        facts=(
            ("call", site.call),
            ("parameter", found.field),
            ("kind", objects.kind(row)),
            ("kernel", site.kernel or ""),
        ),
    )
