"""A value that is not a handle was passed where the handle of an object belongs.

Drivers treat the 8 bytes they are passed as the address of an object of their own and read what is there. Many do not check:
they crash in the call or at the next launch, far from the line that made the value. Kernel arguments that are declared as
memory, and handle parameters of all calls, are compared with everything recorded: the handle of another kind of object, the
handle of a released object, a size, an offset or a number that was passed somewhere.

Example: a structure is read as another one, and its byte count lands in the handle's place.

    clSetKernelArg(restore, 1, sizeof(cl_mem), &extra->d);   // extra->d is 294912, the size of the buffer

Fix it by passing the object itself; check what the variable is in the line named by the finding.

Where kernels had run on a CPU device before, a value that nothing explains is a warning: a kernel that writes outside its
buffer may have overwritten the variable that held the handle. An unknown address that the driver accepted is at most a note,
and reported only if the run failed: the object may have been created in a way that is not recorded. Handles of released objects
as parameters of calls are reported as `use-of-released-object`, host addresses as `host-pointer-as-buffer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._consequence import failed_launch
from gpudx.detectors._groups import groups
from gpudx.detectors._handles import Misused, by_handle, misused
from gpudx.detectors._host_kernels import may_be_overwritten
from gpudx.detectors._memory_arguments import Suspect, suspects
from gpudx.detectors._values import Decoder, Origin
from gpudx.detectors._words import argument, declared, place_of, site_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding, Severity
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "value-is-not-a-handle"
CAUSE = Cause(
    id=ID,
    title="A value that is not a memory object was passed as one",
    refutes_if=(
        "The value was the handle of a live memory object at the time of the call, or the crash address "
        "has no relation to it."
    ),
    fix=(
        (
            "Look at the expression in the named line: print what it points to and compare it with the handle "
            "that the buffer was created with."
        ),
        (
            "If one pointer can lead to two structures, decide by what was stored there, not by the type of the "
            "data it describes."
        ),
    ),
    predicts=(("recorded", "the call is refused, crashes, or a launch that uses the argument does"),),
    kind=FIXED,
)
RELEASED = "use-of-released-object"
NAMES = {"buffer": "a memory object"}


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel argument, or call and parameter, that was given such a value; repeats are counted."""
    for suspect in suspects(facts):
        severity = _severity(facts, suspect, run)
        if severity:
            yield _doubted(facts, _of_argument(facts, suspect, severity), suspect.origin)
    for found in misused(facts):
        if found.info.api in by_handle(facts):
            yield from _of_parameter(facts, found, run)


def _severity(facts: Facts, suspect: Suspect, run: Run) -> Severity | None:
    kind, bad = suspect.origin.kind, suspect.failed or suspect.in_flight
    if suspect.origin.certain or (kind == "unmapped" and (bad or run.failed)):
        return "error"
    if kind == "unmapped":
        return "warning"
    # Host addresses have a detector of their own; this one keeps what may be an object made out of our sight.
    if kind != "heap" or not run.failed or bad:
        return None
    return "warning" if failed_launch(facts, suspect.row) else "info"


def _doubted(facts: Facts, finding: Finding, origin: Origin) -> Finding:
    """A value that nothing explains may be a victim: memory that a kernel on a CPU device has overwritten."""
    doubt = may_be_overwritten(facts, finding.site.number - 1) if finding.site and origin.kind == "unmapped" else None
    if doubt is None or finding.severity == "info":
        return finding
    return replace(finding, severity="warning", evidence=(*finding.evidence, doubt))


def _of_argument(facts: Facts, suspect: Suspect, severity: Severity) -> Finding:
    sets, origin = facts.set_args, suspect.origin
    kernel_row, index = int(sets.kernel_row[suspect.row]), int(sets.index[suspect.row])
    site = site_of(facts, int(sets.position[suspect.row]))
    what = argument(facts, kernel_row, index)
    message = (
        f"{site.call} set {what} of kernel {site.kernel} to {site.value}, which is {origin.text}, not a memory object."
    )
    released = origin.allocation.freed if origin.kind == "dead" and origin.allocation else None
    if released is not None and origin.allocation is not None:
        message = (
            f"{site.call} passed {origin.allocation.id} to kernel {site.kernel} as {what} after it had been released "
            f"({released.call}, call {released.number}{place_of(released)})."
        )
    known = declared(facts, kernel_row, index) is not None
    first = f"the kernel declares {what} as memory" if known else f"{what} was set to {plural(8, 'byte')}"
    return Finding(
        id=ID,
        severity=severity,
        message=message,
        evidence=(Evidence(first, (site.number,)), *origin.evidence),
        site=site,
        others=failed_launch(facts, suspect.row),
        count=suspect.count,
        allocation=origin.allocation,
        causes=(RELEASED,) if released is not None else (ID,),
        root=released,
        inevitable=released is not None,
        facts=(("kernel", site.kernel or "?"), ("argument", str(index)), ("origin", origin.kind)),
    )


def _of_parameter(facts: Facts, found: Misused, run: Run) -> Iterator[Finding]:
    """Parameters that are no dead handle: another kind of object, or a number in a call that failed or never ended."""
    trace, decoder = facts.trace, Decoder(facts, found.kinds)
    ended = trace.column("end", found.position) != 0
    bad = (trace.column("status", found.position) != 0) | ~ended
    rows = np.flatnonzero(~found.dead & (bad | (found.row >= 0)))
    for part in groups(rows, found.value[rows]):
        row = int(part[0])
        origin = decoder.origin(int(found.value[row]), int(found.position[row]))
        if origin.kind not in ("live", "dead"):
            yield _doubted(facts, _parameter(facts, found, row, origin, len(part)), origin)


def _parameter(facts: Facts, found: Misused, row: int, origin: Origin, count: int) -> Finding:
    site = facts.sites.at(int(found.position[row]), value=int(found.value[row]))
    wanted = NAMES.get(found.kinds[0], f"a {found.kinds[0]}")
    message = f"{site.call} was passed {site.value} as {found.field}, which is {origin.text}, not {wanted}."
    evidence = Evidence(f"{site.call} takes {wanted} as {found.field}", (site.number,))
    return Finding(
        id=ID,
        severity="error" if origin.certain or origin.kind == "unmapped" else "warning",
        message=message,
        evidence=(evidence, *origin.evidence),
        site=site,
        count=count,
        allocation=origin.allocation,
        causes=(ID,),
        facts=(("call", site.call), ("parameter", found.field), ("origin", origin.kind)),
    )
