"""A kernel was passed a pointer that is not a multiple of its element's size.

Devices load and store 2, 4, 8 or 16 bytes only at multiples of that size. A pointer into packed data, or an offset in bytes
instead of elements, faults at the first access.

Example:

    scale<<<grid, block>>>((float *)(bytes + 2), n);

Fix it by aligning the offset, or with a kernel that loads single bytes. Reported only if the device reported a fault while the
launch may have been running: kernels may cast pointers to narrower types before they use them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import interval, while_running
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "misaligned-pointer"
WIDEST = 16
MOST = 5


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per launch and argument of the interval, at most MOST."""
    found = interval(facts)
    if found is None:
        return
    pointers = facts.launches.pointers
    rows = [int(r) for s in found.suspects for r in pointers.of(s.launch) if pointers.declared[r]]
    odd = [(r, e) for r in rows if (e := _element(facts, r)) and int(pointers.value[r]) % e]
    for row, element in odd[:MOST]:
        yield _finding(facts, row, element, found.report)


def _element(facts: Facts, row: int) -> int:
    """The alignment that the declared type needs: the largest power of two that its size is a multiple of."""
    pointers = facts.launches.pointers
    info = facts.launches.info(int(pointers.launch[row]))
    known = info.args.get(int(pointers.index[row])) if info else None
    size = known.element if known and known.element else 0
    return min(size & -size, WIDEST)


def _finding(facts: Facts, row: int, element: int, report: int) -> Finding:
    pointers = facts.launches.pointers
    launch, index, value = int(pointers.launch[row]), int(pointers.index[row]), int(pointers.value[row])
    site = facts.sites.at(int(facts.launches.position[launch]), argument=index, value=value)
    name = argument(facts, int(facts.launches.kernel_row[launch]), index)
    obj = int(np.where(pointers.live[row], pointers.object[row], -1))
    return Finding(
        id=ID,
        severity="warning",
        message=f"Kernel {site.kernel} was passed {value:#x} as {name}, which is not a multiple of {plural(element, 'byte')}.",
        evidence=(
            Evidence(f"{value:#x} leaves {value % element} when divided by {element}", (site.number,)),
            while_running(report),
        ),
        site=site,
        allocation=allocation_of(facts, obj),
        causes=("misaligned-access",),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
    )
