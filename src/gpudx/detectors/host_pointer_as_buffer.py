"""A kernel argument that should be a memory object is host memory.

The kernel declares a pointer, and a pointer of the host looks right. But a kernel receives memory through memory objects: the
driver treats the address as an object of its own and reads the program's data as if it were one. Some drivers refuse the call,
others crash in it or at the launch. The same happens if the handle is passed where its address belongs: the driver then reads
the first bytes of its own object as the handle.

Example:

    float *data = malloc(n * sizeof *data);
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &data);     // host memory
    clSetKernelArg(kernel, 0, sizeof(cl_mem), buffer);    // the handle instead of its address

Fix it by making a buffer from the data and passing the address of its handle: `&buffer`. Shared virtual memory has a
call of its own, clSetKernelArgSVMPointer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._consequence import failed_launch
from gpudx.detectors._groups import groups
from gpudx.detectors._memory_arguments import Suspect, handle_as_pointer, suspects
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "host-pointer-as-buffer"
CAUSE = Cause(
    id=ID,
    title="A host address was passed where the kernel expects a memory object",
    refutes_if="The value is the handle of a live memory object.",
    fix=(
        (
            "Create a buffer (with the host pointer as its source if the data is there) and pass its handle: "
            "clSetKernelArg(k, i, sizeof(cl_mem), &buffer)."
        ),
        "For shared virtual memory use the call made for it instead of clSetKernelArg.",
    ),
    predicts=(("recorded", "the call is refused or the launch crashes"),),
    kind=FIXED,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel argument; repeats are counted."""
    for suspect in suspects(facts):
        refused = suspect.failed or suspect.in_flight
        if suspect.origin.kind == "host" or (suspect.origin.kind == "heap" and refused):
            yield _host(facts, suspect)
    sets = facts.set_args
    rows = handle_as_pointer(facts)
    for part in groups(rows, facts.kernels.functions(sets.kernel_row[rows]), sets.index[rows]):
        yield _handle_itself(facts, int(part[0]), len(part))


def _host(facts: Facts, suspect: Suspect) -> Finding:
    sets, origin = facts.set_args, suspect.origin
    site = site_of(facts, int(sets.position[suspect.row]))
    what = argument(facts, int(sets.kernel_row[suspect.row]), int(sets.index[suspect.row]))
    message = (
        f"{site.call} set {what} of kernel {site.kernel} to {site.value}, which is {origin.text}, not a memory object."
    )
    evidence = (Evidence(f"the kernel declares {what} as memory", (site.number,)), *origin.evidence)
    return Finding(
        id=ID,
        severity="error",
        message=message,
        evidence=evidence,
        site=site,
        others=failed_launch(facts, suspect.row),
        count=suspect.count,
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(site.argument)), ("origin", origin.kind)),
    )


def _handle_itself(facts: Facts, row: int, count: int) -> Finding:
    sets = facts.set_args
    position, pointer = int(sets.position[row]), int(sets.pointer[row])
    obj = int(facts.objects.at(np.array([pointer], np.uint64), np.array([position], np.int64))[0])
    site, label = site_of(facts, position), facts.objects.label(obj)
    what = argument(facts, int(sets.kernel_row[row]), int(sets.index[row]))
    message = (
        f"{site.call} was passed {label} itself for {what} of kernel {site.kernel}, "
        "where the address of its handle belongs."
    )
    return Finding(
        id=ID,
        severity="error",
        message=message,
        site=site,
        others=failed_launch(facts, row),
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        evidence=(
            Evidence(f"the pointer {pointer:#x} that the call was passed is the handle of {label}", (site.number,)),
        ),
        facts=(("kernel", site.kernel or "?"), ("argument", str(site.argument)), ("origin", "handle")),
    )
