"""A kernel adds up the elements of a group in halves, and the group's size is no power of two: some elements are left out.

Example:

    for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {     // 96, 48, 24, 12, 6, 3: 3 is halved to 1
        if (lid < s) t[lid] += t[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

Fix it by launching groups whose size is a power of two, or by starting from the next power of two and comparing `lid + s` with the size.

Reported where the kernel's source has such a loop over get_local_size(0), its body does nothing else, and the launch passes the size of its
groups. It is an error in a program that fails by its exit status, else a warning: elements that are 0 may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import first_report
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "lossy-halving"
CAUSE = Cause(
    id=ID,
    title="A reduction halves a number of elements that is no power of two",
    refutes_if="The elements that are left out do not belong to the result.",
    fix=("Launch groups whose size is a power of two, or begin the loop at the next power of two and skip what is not there.",),
    predicts=(("recorded", "the size of the groups is no power of two"),),
    kind=FIXED,
)
LOOKED_AT = 256  # launches of one kernel
BECAUSE = "The kernel's source and the launch show which elements are left out; it is not shown that the program failed because of it."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function: of its first launch that shows it."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        odd = [int(row) for row in part[:LOOKED_AT] if (lost_of(_group(facts, int(row)))) is not None]
        loop = facts.kernels.local_halving(int(launches.kernel_row[odd[0]])) if odd else ""
        if loop:
            yield _finding(facts, run, odd[0], loop, len(odd))


def _group(facts: Facts, row: int) -> int:
    """The work-items of a group in one dimension; 0 where the driver chose it."""
    group = facts.launches.geometry(row)[1]
    return int(group[0]) if all(one <= 1 for one in group[1:]) else 0


def lost_of(size: int) -> tuple[int, int] | None:
    """The odd number that is halved first, and the element that this leaves out; None where there is none."""
    while size > 1:
        if size % 2:
            return size, size - 1
        size //= 2
    return None


def _finding(facts: Facts, run: Run, row: int, loop: str, count: int) -> Finding:
    site, size = facts.sites.at(int(facts.launches.position[row])), _group(facts, row)
    odd, element = lost_of(size) or (size, size)
    failed = run.outcome.kind == "exit" and first_report(facts) is None
    power = 1 << (size - 1).bit_length()
    return Finding(
        id=ID,
        severity="error" if failed else "warning",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) adds up its groups in halves, and a group has {size:,} work-items, which is no "
            f"power of two: {odd} elements are halved to {odd // 2}, and element {element} is left out."
        ),
        evidence=(
            Evidence(f"the loop of the kernel's source: `{loop}`, with the local size of the launch", (site.number,)),
            *((Evidence(f"the same in {plural(count - 1, 'more launch', 'more launches')}"),) if count > 1 else ()),
        ),
        site=site,
        count=count,
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        steps=(f"Launch groups of {power // 2:,} or {power:,} work-items, or let the loop begin at {power // 2:,} and skip the rest.",),
        facts=(("kernel", site.kernel or "?"),),
    )
