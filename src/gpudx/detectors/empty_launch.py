"""A launch had no work-items, the driver accepted it, and the program used the result that it should have computed.

A global size of 0 does nothing and is no error (since OpenCL 2.1). It usually comes from an integer division that rounds down.

Example:

    size_t global = n / 256 * 256;                                      // 0 for n < 256
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);

Fix it by rounding up, with a bounds check in the kernel.

Reported only if the run failed, and a buffer that the kernel writes is read afterwards and was written by no other launch: the tail of
work that is done in pieces may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._handled import should_write
from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.given_memory import uses
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "empty-launch"
CAUSE = Cause(
    id=ID,
    title="A launch was empty, so its kernel did not run",
    refutes_if="The program does not need what the kernel computes in this case.",
    fix=("Round the global size up instead of down, with a bounds check in the kernel.",),
    predicts=(("recorded", "the launch succeeds and nothing runs"),),
    kind=FIXED,
)

LOOKED_AT = 64  # a program with more of them makes empty launches on purpose


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function; repeats are counted."""
    if not run.failed:
        return
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address & ~launches.captured)
    rows = rows[launches.sizes(rows)[0] == 0]  # the first dimension is always given
    rows = rows[[_is_used(facts, int(row)) for row in rows[:LOOKED_AT]]] if len(rows) <= LOOKED_AT else rows[:0]
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        yield _finding(facts, int(part[0]), len(part))


def _is_used(facts: Facts, row: int) -> bool:
    """Is memory that it should have written read afterwards, and did no other launch write it?"""
    return any(_is_read_unwritten(facts, row, root) for root in should_write(facts, row))


def _is_read_unwritten(facts: Facts, row: int, root: int) -> bool:
    table, launches = uses(facts), facts.launches
    mine = table[table["object"] == root]
    read = mine["position"][((mine["how"] & READ) != 0) & (mine["position"] > launches.position[row])]
    if not len(read):
        return False
    written = mine["position"][(mine["argument"] >= 0) & ((mine["how"] & WRITE) != 0) & (mine["position"] < read[0])]
    by = np.searchsorted(launches.position, written)
    return not (launches.sizes(by)[0] > 0).any()


def _finding(facts: Facts, row: int, count: int) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]))
    return Finding(
        id=ID,
        severity="error",
        message=f"Kernel {site.kernel} (launch {site.launch}) did not run: its global size is 0. What it should have written was used.",
        evidence=(Evidence("the global size is 0, and the driver accepted the launch", (site.number,)),),
        site=site,
        count=count,
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"),),
    )
