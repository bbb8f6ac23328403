"""A kernel was passed memory that was allocated in another context of the same device.

Each context has an address space of its own (CUDA C++ programming guide, "Driver API", "Context"). An address of one context
may mean nothing in another; if both happen to share their mappings, the launch works until it runs elsewhere.

Example:

    cuCtxPushCurrent(display);
    cuMemAlloc(&table, 1024);
    cuCtxPopCurrent(NULL);
    cuLaunchKernel(overlay, ..., compute_stream, args, NULL);    // args has `table`; the stream is of the context `compute`

Fix it by allocating in the context that launches, or by using one context (the primary one) for a device.

An error where the device reported an illegal address that this launch may have made; otherwise a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._device_errors import may_have_faulted
from gpudx.detectors._groups import groups
from gpudx.detectors._other_device import devices, granted, of_other_contexts
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import capital

ID = "wrong-context-pointer"
CAUSE = Cause(
    id=ID,
    title="A kernel was passed memory of another context",
    refutes_if="Both contexts map this memory at the same address.",
    fix=("Allocate in the context that launches, or use one context for the device.",),
    predicts=(("recorded", "the memory's context is not that of the launch"),),
    kind=FIXED,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function and argument."""
    pointers, launches = facts.launches.pointers, facts.launches
    if granted(facts) or len(facts.objects.rows_of("green_context")):  # green contexts are parts of one, with its memory
        return
    rows = of_other_contexts(facts)
    rows = rows[[_on_one_device(facts, int(row)) for row in rows]] if len(rows) else rows
    functions = facts.kernels.functions(launches.kernel_row[pointers.launch[rows]])
    faulted = may_have_faulted(facts) if len(rows) else set()
    for part in groups(rows, functions, pointers.index[rows]):
        guilty = [int(r) for r in part if int(pointers.launch[r]) in faulted]
        yield _finding(facts, guilty[0] if guilty else int(part[0]), len(part), bool(guilty))


def _on_one_device(facts: Facts, row: int) -> bool:
    home, here = devices(facts, row)
    return home is not None and home == here


def _finding(facts: Facts, row: int, count: int, faulted: bool) -> Finding:
    pointers = facts.launches.pointers
    launch, index, obj = int(pointers.launch[row]), int(pointers.index[row]), int(pointers.object[row])
    site = facts.sites.at(int(facts.launches.position[launch]), argument=index, value=int(pointers.value[row]))
    made = site_of(facts, int(facts.objects.table["born"][obj]))
    name, label = argument(facts, int(facts.launches.kernel_row[launch]), index), facts.objects.label(obj)
    return Finding(
        id=ID,
        severity="error" if faulted else "warning",
        message=f"{capital(label)} was allocated in a different context than that of kernel {site.kernel}, which was passed it as {name}.",
        evidence=(
            Evidence(f"{made.call} (call {made.number}) allocated {label} while another context was current", (made.number,)),
            Evidence(f"launch {site.launch} is in a stream of its own context, on the same device", (site.number,)),
        ),
        site=site,
        others=(made,),
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
    )
