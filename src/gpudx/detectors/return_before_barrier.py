"""Work-items of a group return before a barrier that the others wait at.

All work-items of a group have to reach a barrier, or none (OpenCL C specification, synchronization functions). With a launch that is
rounded up to whole groups, `if (i >= n) return;` divides the last group. What happens then is undefined: devices hang, and drivers that
compile a group into one function run code that the source does not have, with accesses outside of buffers.

Example:

    if (get_global_id(0) >= n) return;
    tile[lid] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);

Fix it by letting every work-item reach the barrier: put only the work under the condition, not the barrier.

Reported where the kernel's source has such a return, as far as its text shows, and the numbers of the launch divide a group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.model import Access, Evidence, Finding
from gpudx.text import plural

ID = "return-before-barrier"
OWN_TEXT = "kernel source"  # the text that the program gave the driver
LOOKED_AT = 256  # launches of one kernel
BECAUSE = "The kernel's source and the numbers of the launch show that a group is divided before a barrier."


@dataclass(frozen=True)
class Divided:
    """A group of which some work-items return. `left` of `group` reach the barrier, in this dimension."""

    axis: int
    name: str
    argument: int
    number: int
    items: int
    group: int

    @property
    def left(self) -> int:
        return self.number % self.group


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function: of its first launch that shows it; repeats are counted."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        found = [(int(row), one) for row in part[:LOOKED_AT] if (one := divided(facts, int(row)))]
        if found:
            yield _finding(facts, *found[0], len(found))


def divided(facts: Facts, row: int) -> Divided | None:
    """The group of a launch that a return divides before a barrier."""
    returning = facts.kernels.returns_before_barrier(int(facts.launches.kernel_row[row]))
    if not returning or any(facts.launches.offset(row)):
        return None
    items, group = facts.launches.geometry(row)
    given = {one["declared"].name: one for one in facts.launches.values(row) if one["declared"] and one["object"] < 0}
    for axis, names in returning.items():
        for name in sorted(names & given.keys()):
            number = int.from_bytes(given[name]["bytes"], "little")
            if group[axis] > 1 and 0 < number < items[axis] and number % group[axis]:
                return Divided(axis, name, int(given[name]["index"]), number, items[axis], group[axis])
    return None


def _place(facts: Facts, row: int, name: str) -> str:
    """ "scan.cl:28", where the kernel returns; "" where its source does not say it in one line."""
    info = facts.launches.info(row)
    source = facts.kernels.source(info.program, info.position) if info else ""
    start = re.search(rf"\b{re.escape(info.name)}\s*\(", source) if info else None
    found = re.search(rf"\bif\s*\([^;{{}}]*\b{re.escape(name)}\b[^;{{}}]*\)\s*\{{?\s*return\b", source[start.end() :]) if start else None
    if start is None or found is None:
        return ""
    line = source.count("\n", 0, start.end() + found.start()) + 1
    place = facts.kernel_files.place(source, line)
    return f"{place[0]}:{place[1]}" if place else f"{OWN_TEXT}:{line}"


def _finding(facts: Facts, row: int, one: Divided, count: int) -> Finding:
    place = _place(facts, row, one.name)
    site = facts.sites.at(int(facts.launches.position[row]))
    first = one.number - one.left
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) has a barrier that not all work-items of a group reach: those with ids from "
            f"{one.number:,} on return before it ({one.name} is {one.number:,}), and the group from {first:,} to "
            f"{first + one.group - 1:,} is divided."
        ),
        evidence=(
            Evidence(
                f"{one.left} of the {one.group} work-items of that group reach the barrier in dimension {one.axis}; "
                f"the launch has {one.items:,} work-items in groups of {one.group}",
                (site.number,),
            ),
            Evidence(f"the kernel returns where get_global_id({one.axis}) is not less than argument {one.argument} `{one.name}`"),
            *((Evidence(f"the same in {plural(count - 1, 'more launch', 'more launches')}"),) if count > 1 else ()),
        ),
        site=site,
        count=count,
        causes=("barrier-misuse",),
        certainty="observed",
        attribution="this",
        because=BECAUSE,
        steps=(
            f"Replace the return: let every work-item reach the barrier, and put only the work under a condition with `{one.name}`.",
        ),
        facts=(("kernel", site.kernel or "?"), ("arguments", one.name)),
        access=Access(by="kernel", kernel=site.kernel or "", source=place) if place else None,
    )
