"""A kernel was passed a negative number where its other numbers are sizes.

A stride or a count that was computed in too few bits, or read from a value that was never set, turns negative, and the kernel's
index goes far below its memory.

Example:

    int stride = rows * columns * channels;              // past 2^31: negative
    gather<<<grid, block>>>(out, in, n, stride);

Fix it by computing sizes in 64 bits, and by checking them before the launch.

Reported only if the device reported a fault while the launch may have been running; -1 is not reported, because it often means
"none".
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._device_errors import interval, while_running
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "negative-stride"
CAUSE = Cause(
    id=ID,
    title="A kernel was passed a negative size or stride",
    refutes_if="The kernel is written for negative values there.",
    fix=("Compute sizes in 64 bits, and check them before the launch.",),
    predicts=(("recorded", "a number is negative where the others are sizes"),),
    kind=FIXED,
)
LOWEST = {4: -(1 << 31), 8: -(1 << 63)}
MOST = 5


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per launch and argument of the interval, at most MOST."""
    found = interval(facts)
    if found is None:
        return
    odd = [(s.launch, index, value) for s in found.suspects for index, value in _negative(facts, s.launch)]
    for launch, index, value in odd[:MOST]:
        yield _finding(facts, launch, index, value, found.report)


def _negative(facts: Facts, launch: int) -> list[tuple[int, int]]:
    """(argument, value) of negative whole numbers, if there are positive ones beside them or they are the lowest."""
    numbers = []
    for given in facts.launches.values(launch):
        known = given["declared"]
        if known and known.scalar in ("int", "long"):
            numbers.append((given["index"], int.from_bytes(given["bytes"], "little", signed=True), given["size"]))
    sizes = any(value > 1 for _, value, _ in numbers)
    return [(i, v) for i, v, size in numbers if v == LOWEST.get(size) or (v < -1 and sizes)]


def _finding(facts: Facts, launch: int, index: int, value: int, report: int) -> Finding:
    site = facts.sites.at(int(facts.launches.position[launch]), argument=index)
    name = argument(facts, int(facts.launches.kernel_row[launch]), index)
    return Finding(
        id=ID,
        severity="warning",
        message=f"Kernel {site.kernel} was passed {value:,} as {name}, while its other numbers are sizes.",
        evidence=(
            Evidence(f"{name} is {value:,}", (site.number,)),
            while_running(report),
        ),
        site=site,
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
    )
