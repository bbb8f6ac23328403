"""A launch was rounded down to whole work-groups, so the last elements have no work-item.

The kernel compares its id with a number, so that a larger launch does no harm; the launch has fewer work-items than that number, by less
than one group. What the missing work-items should have computed keeps its old content.

Example:

    kernel void scale(global float *x, int n) { int i = get_global_id(0); if (i < n) x[i] *= 2; }

    size_t global = n / 256 * 256;                                      // 768 for n = 1000
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);

Fix it by rounding up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import listed, plural

ID = "launch-rounded-down"
CAUSE = Cause(
    id=ID,
    title="A launch was rounded down and leaves out the last elements",
    refutes_if="Something else computes the elements that the launch leaves out.",
    fix=("Round the size of the launch up to whole groups: the kernel skips the rest.",),
    predicts=(("recorded", "the launch has fewer work-items than the number that the kernel compares with"),),
    kind=FIXED,
)
BECAUSE = "The kernel expects a launch that is rounded up; that the program needs what this one leaves out is not shown."
LOOKED_AT = 256  # launches of one kernel


@dataclass(frozen=True)
class Short:
    """A dimension that ends before the number that the kernel compares with."""

    axis: int
    name: str
    argument: int
    wanted: int
    launched: int
    group: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function; repeats are counted."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address & ~launches.captured)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        if not facts.kernels.guards(int(launches.kernel_row[part[0]])):
            continue
        found = [(int(row), short) for row in part[:LOOKED_AT] if (short := _short(facts, int(row)))]
        elsewhere = any(any(launches.offset(int(row))) for row in part[:LOOKED_AT])  # it does what is left out
        if found and not elsewhere:
            yield _finding(facts, *found[0], len(found))


def _short(facts: Facts, row: int) -> list[Short]:
    items, group = facts.launches.geometry(row)
    given = {one["declared"].name: one for one in facts.launches.values(row) if one["declared"] and one["object"] < 0}
    found = []
    for axis, names in facts.kernels.guards(int(facts.launches.kernel_row[row])).items():
        for name in sorted(names & given.keys()):
            number = int.from_bytes(given[name]["bytes"], "little")
            if group[axis] > 1 and 0 < items[axis] < number < items[axis] + group[axis]:
                found.append(Short(axis, name, int(given[name]["index"]), number, items[axis], group[axis]))
    return found


def _finding(facts: Facts, row: int, short: list[Short], count: int) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]))
    left = listed([f"ids {one.launched:,} to {one.wanted - 1:,} in dimension {one.axis} ({one.name} is {one.wanted:,})" for one in short])
    return Finding(
        id=ID,
        severity="error",
        message=f"Kernel {site.kernel} (launch {site.launch}) never runs for {left}: the launch was rounded down.",
        evidence=tuple(
            Evidence(
                f"the kernel compares get_global_id({one.axis}) with argument {one.argument} `{one.name}`, which is {one.wanted:,}; "
                f"{one.launched:,} is {one.wanted:,} / {one.group} rounded down, x {one.group}",
                (site.number,),
            )
            for one in short
        )
        + ((Evidence(f"the same in {plural(count - 1, 'more launch', 'more launches')}"),) if count > 1 else ()),
        site=site,
        count=count,
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        facts=(("kernel", site.kernel or "?"), ("arguments", ",".join(one.name for one in short))),
    )
