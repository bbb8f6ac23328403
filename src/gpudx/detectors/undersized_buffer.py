"""A launch was passed memory that is smaller than its size arguments require.

Sizes are computed in one place and used in another: defaults instead of the model's header, one dimension too few, the size of
the last batch. The kernel uses its numbers and runs past the end of its memory, into another buffer or into unmapped memory.

Example:

    hidden = clCreateBuffer(context, 0, rows * 11008 * sizeof(float), NULL, NULL);
    gemm(hidden, x, weights, rows, 14336, 64);                     // kernel: rows x columns x inner

Fix it by computing the size from the same numbers that the launch is passed.

What a kernel does with its numbers is not recorded. They count only if their product is the exact size of the same argument's
memory in other launches of this kernel, with different sizes; or if all memory of another launch has the sizes of three
matrices (p x q, q x r, p x r) and in this launch of only two. Not reported if anything else explains the size, or if the kernel
is also passed structures or pointers to integers. Reported only if a kernel on the processor may have crashed the process; a
fault that a device reports is shown with the launches that may have caused it, see device-error-reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import OUT_OF_BOUNDS
from gpudx.detectors._in_flight import all_pending
from gpudx.detectors._undersized import Short, object_of, shortages
from gpudx.detectors._undersized_words import told
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "undersized-buffer"
CRASHES = ("SIGSEGV", "SIGBUS")
MOST = 5


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and argument, at most MOST."""
    if run.outcome.signal not in CRASHES or facts.trace.ended:
        return
    launches = facts.launches
    open_ = np.isin(launches.position, all_pending(facts)) & ~launches.by_address
    found = shortages(facts, np.flatnonzero(open_), (launches.status == 0) & launches.done & ~open_)
    first: dict[tuple[int, int], Short] = {}
    for launch in sorted(found):
        for one in found[launch]:
            first.setdefault((int(launches.kernel_row[launch]), one.argument), one)
    for one in list(first.values())[:MOST]:
        yield _finding(facts, one)


def _finding(facts: Facts, one: Short) -> Finding:
    row, position = int(facts.launches.kernel_row[one.launch]), int(facts.launches.position[one.launch])
    memory, site = object_of(facts, one), facts.sites.at(position, argument=one.argument)
    label = facts.objects.label(memory)
    return Finding(
        id=ID,
        severity="warning",
        message=(
            f"Kernel {site.kernel} was passed {label} as {argument(facts, row, one.argument)}, which is "
            f"{plural(one.missing, 'byte')} less than its size arguments require."
        ),
        evidence=(
            Evidence(told(facts, one), (site.number,)),
            Evidence("no wait had shown that this launch was complete when the process crashed", (site.number,)),
        ),
        site=site,
        allocation=allocation_of(facts, memory, needed=_needed(facts, memory, one)),
        certainty="inferred",
        causes=(OUT_OF_BOUNDS,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(one.argument))),
    )


def _needed(facts: Facts, memory: int, one: Short) -> int:
    """Bytes that the allocation would need: `room` counts from where the argument points."""
    return int(facts.objects.table["size"][memory]) + one.missing
