"""A kernel clamps an unsigned difference at zero, which does nothing: below zero it is a number near 2^32.

Example:

    uint y = get_global_id(1);
    for (uint yy = max(y - r, 0u); yy <= min(y + r, h - 1); ++yy)     // for y < r: begins near 2^32, and never runs

Fix it by subtracting where the result is not below zero: `y > r ? y - r : 0`, or by computing in int.

Reported where the id is that of a launch without an offset, so that it is 0 for some work-items, and the argument is larger than 0. Not
where the kernel compares the two. No access leaves a buffer, so that nothing else notices.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.model import Evidence, Finding

ID = "useless-clamp"
WRAP = 1 << 32
BECAUSE = "The kernel's source and the launch show that the difference wraps; what the program makes of it is not recorded."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function and clamp: of the first launch in which it wraps."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        clamps, row = facts.kernels.useless_clamps(int(launches.kernel_row[part[0]])), int(part[0])
        given = {one["declared"].name: one for one in launches.values(row) if one["declared"] and one["object"] < 0} if clamps else {}
        for text, (axis, name) in clamps.items():
            number = int.from_bytes(given[name]["bytes"], "little") if name in given and given[name]["size"] == 4 else 0
            if 0 < number < WRAP // 2 and not any(launches.offset(row)):
                yield _finding(facts, row, text, axis, name, int(given[name]["index"]), number, len(part))


def _finding(facts: Facts, row: int, text: str, axis: int, name: str, index: int, number: int, count: int) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]), argument=index)
    inner = text.removeprefix("max(").removesuffix(", 0u)")
    first = inner.partition(" ")[0]
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) computes `{text}`, which is `{inner}`: the difference is unsigned, and for "
            f"{first} = 0 and {name} = {number:,} it is {WRAP - number:,}."
        ),
        evidence=(
            Evidence(f"`{first}` is get_global_id({axis}), and argument {index} `{name}` is {number:,}", (site.number,)),
            Evidence(f"an unsigned number is never below 0, so that the clamp changes nothing where {first} is less than {name}"),
        ),
        site=site,
        count=count,
        causes=("index-overflow",),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        steps=(f"Write `{first} > {name} ? {inner} : 0`, or compute in int: `max((int){first} - (int){name}, 0)`.",),
        facts=(("kernel", site.kernel or "?"), ("expression", text)),
    )
