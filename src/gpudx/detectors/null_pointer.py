"""A kernel was launched with a null pointer.

An allocation that failed and was not checked, an optional buffer that was not made, arguments in the wrong order: the
kernel gets null, and the fault shows up at some later call.

Example:

    float *out = nullptr;
    if (verbose) cudaMalloc(&out, bytes);
    scale<<<grid, block>>>(out, n);

Fix it by allocating the memory before the launch, or by letting the kernel test the pointer.

Many kernels allow null for buffers that they do not use. Not reported if an earlier launch of the same kernel had null there
and succeeded; without a fault of the device it is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._device_errors import first_report, interval, while_running
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "null-pointer"
CAUSE = Cause(
    id=ID,
    title="A kernel was launched with a null pointer",
    refutes_if="The kernel tests the pointer, or the same launch succeeds with null there.",
    fix=("Allocate the memory before the launch, or let the kernel test the pointer.",),
    predicts=(("recorded", "a pointer parameter is null"),),
    kind=FIXED,
)
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function and argument."""
    pointers, launches = facts.launches.pointers, facts.launches
    ran = ~launches.captured & ((launches.status == 0) | ~launches.done)
    rows = np.flatnonzero(pointers.declared & (pointers.value == 0) & ~pointers.inside & ran[pointers.launch])
    functions = facts.kernels.functions(launches.kernel_row[pointers.launch[rows]])
    for part in groups(rows, functions, pointers.index[rows]):
        chosen = _unproven(facts, pointers.launch[part].astype(np.int64))
        if len(chosen):
            yield _finding(facts, int(chosen[-1]), int(pointers.index[part[0]]), len(part))


def _unproven(facts: Facts, rows: I64) -> I64:
    """The launches, none if one of them surely ended well: then the kernel allows null there."""
    launches, end = facts.launches, first_report(facts)
    before = len(facts.trace) if end is None else end
    running = facts.order.open(launches.position[rows], launches.queue[rows], before)
    return rows if running.all() else rows[:0]


def _finding(facts: Facts, launch: int, index: int, count: int) -> Finding:
    site = facts.sites.at(int(facts.launches.position[launch]), argument=index, value=0)
    name = argument(facts, int(facts.launches.kernel_row[launch]), index)
    found = interval(facts)
    faulted = found is not None and any(s.launch == launch for s in found.suspects)
    evidence = [Evidence(f"{name} is null", (site.number,))]
    if faulted and found is not None:
        evidence.append(while_running(found.report))
    return Finding(
        id=ID,
        severity="error" if faulted else "warning",
        message=f"Kernel {site.kernel} was launched with null as {name}.",
        evidence=tuple(evidence),
        site=site,
        count=count,
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
    )
