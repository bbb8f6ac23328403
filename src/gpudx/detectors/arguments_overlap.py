"""A launch was passed two overlapping parts of one buffer, and writes one of them.

Sub-buffers are parts of a buffer. Two that partly overlap are rarely intended: an offset was counted in elements, or in the
wrong unit, and one part begins inside the other. What a kernel writes into one part then changes what it reads from the other,
in an undefined order (OpenCL API specification, clCreateSubBuffer: such accesses are undefined).

Example:

    region.origin = used;  region.size = count * sizeof(float);
    part = clCreateSubBuffer(arena, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    used += count;                                  // elements: the next part begins at a quarter of this one

Fix it by counting offsets and sizes in bytes, in one place.

The checks inside kernels (`--sanitize`) report the same of regions of one buffer that begin at offsets which the program passes as numbers.

One launch that works in place, of a kernel that otherwise never does, is a lead in a run that failed: so it is where a pool hands out a
buffer that is still in use.

Not reported: the same part passed twice otherwise, a buffer together with a part of it, and parts that are only read. Programs do that on
purpose. A part inside another one is reported only for runs that failed, if the kernel writes the inner one and only reads the outer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._words import argument as argument_of
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "arguments-overlap"
CAUSE = Cause(
    id=ID,
    title="Two memory regions that a launch is passed overlap, and the kernel writes one of them",
    refutes_if="The kernel uses no byte that both parts share.",
    fix=("Count offsets and sizes of the parts in bytes, so that each begins where the one before ends.",),
    predicts=(("recorded", "the two parts share the same bytes in every run"),),
    kind=FIXED,
)
SHOWN = 20
LEAST, MOST = 3, 4096  # launches of a kernel that are compared


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and pair of arguments; launches after the first are counted."""
    if run.failed:
        yield from _in_place_once(facts)
    table, objects = facts.accesses, facts.objects.table
    rows = table[(table["argument"] >= 0) & (objects["parent"][table["object"]] >= 0)]
    if not len(rows):
        return
    rows = rows[np.argsort(rows["position"], kind="stable")]
    found: dict[tuple[int, int, int, int, int], list[int]] = {}
    positions, starts = np.unique(rows["position"], return_index=True)
    for position, uses in zip(positions.tolist(), np.split(rows, starts[1:]), strict=True):
        for first, second in combinations([(int(u["object"]), int(u["argument"]), int(u["how"])) for u in uses], 2):
            wrong = _shared(facts, first[0], second[0]) and not _is_inside(facts, first[0], second[0])
            if (first[2] | second[2]) & WRITE and (wrong or (run.failed and _writes_inner(facts, first, second))):
                kernel = int(facts.launches.kernel[facts.launches.at_position(position) or 0])
                found.setdefault((kernel, *first[:2], *second[:2]), []).append(position)
    for (_, one, at, other, beside), launches in list(found.items())[:SHOWN]:
        yield _finding(facts, run, launches, (one, at), (other, beside))


def _writes_inner(facts: Facts, *uses: tuple[int, int, int]) -> bool:
    """Does the kernel write a part that begins inside another one, which it only reads?"""
    written, read = ([one for one, _, how in uses if bool(how & WRITE) is wanted] for wanted in (True, False))
    if len(written) != 1 or not _is_inside(facts, written[0], read[0]):
        return False
    table = facts.objects.table
    return bool(table["size"][written[0]] < table["size"][read[0]] and table["offset"][written[0]] > table["offset"][read[0]])


def _shared(facts: Facts, one: int, other: int) -> int:
    """Bytes that both parts have."""
    if facts.objects.table["parent"][one] != facts.objects.table["parent"][other]:
        return 0
    (first, first_end), (second, second_end) = (_range(facts, row) for row in (one, other))
    return max(0, min(first_end, second_end) - max(first, second))


def _is_inside(facts: Facts, one: int, other: int) -> bool:
    """Is one part inside the other, whichever?"""
    sizes = facts.objects.table["size"]
    return _shared(facts, one, other) == int(min(sizes[one], sizes[other]))


def _range(facts: Facts, row: int) -> tuple[int, int]:
    table = facts.objects.table
    return int(table["offset"][row]), int(table["offset"][row] + table["size"][row])


def _finding(facts: Facts, run: Run, launches: list[int], one: tuple[int, int], other: tuple[int, int]) -> Finding:
    site = facts.sites.at(launches[0], argument=other[1])
    row = facts.launches.at_position(launches[0])
    kernel = int(facts.launches.kernel_row[row]) if row is not None else -1
    names = [argument_of(facts, kernel, at) for _, at in (one, other)]
    shared = _shared(facts, one[0], other[0])
    places = [f"{name} is {_place(facts, part)}" for name, (part, _) in zip(names, (one, other), strict=True)]
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=f"Kernel {site.kernel} (launch {site.launch}) was passed overlapping memory: {places[0]}, {places[1]}; "
        f"they share {plural(shared, 'byte')}.",
        evidence=(
            *(Evidence(f"{_place(facts, part)}, made by call {int(facts.objects.table['born'][part]) + 1}") for part, _ in (one, other)),
            Evidence(f"{plural(len(launches), 'launch', 'launches')} of {site.kernel} had both parts", (site.number,)),
        ),
        site=site,
        count=len(launches),
        allocation=allocation_of(facts, other[0], "live"),
        root=facts.sites.at(int(facts.objects.table["born"][other[0]])),
        causes=(ID,),
        attribution="probable",
        because="The two parts share bytes, and the kernel may write them; it is not shown that it uses those bytes.",
        facts=(("kernel", site.kernel or "?"), ("arguments", f"{one[1]} {other[1]}")),
    )


def _place(facts: Facts, row: int) -> str:
    table = facts.objects.table
    first, size = int(table["offset"][row]), int(table["size"][row])
    return f"bytes {first:,} to {first + size - 1:,} of {facts.objects.label(int(table['parent'][row]))}"


# ---- one launch of many that works in place ----


def _in_place_once(facts: Facts) -> Iterator[Finding]:
    launches = facts.launches
    functions = facts.kernels.functions(launches.kernel_row)
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address & (functions >= 0))
    for function in np.unique(functions[rows]).tolist():
        mine = rows[functions[rows] == function]
        if not LEAST <= len(mine) <= MOST:
            continue
        kernel = int(launches.kernel_row[mine[0]])
        written = facts.kernels.only_written(kernel)
        given = [{int(v["index"]): v for v in launches.values(int(row)) if v["declared"] and v["object"] >= 0} for row in mine]
        for one, other in permutations(given[0], 2):
            both = [(row, v) for row, v in zip(mine.tolist(), given, strict=True) if one in v and other in v]
            same = [row for row, v in both if v[one]["object"] == v[other]["object"]]
            reads = given[0][one]["declared"].read_only or facts.kernels.only_reads(kernel, one)
            if len(same) != 1 or not reads or given[0][other]["declared"].name not in written:
                continue
            memory = int(given[mine.tolist().index(same[0])][one]["object"])
            yield _of_in_place(facts, same[0], (one, other), memory, len(mine))


def _of_in_place(facts: Facts, row: int, pair: tuple[int, int], memory: int, count: int) -> Finding:
    launches, (one, other) = facts.launches, pair
    kernel, name = int(launches.kernel_row[row]), launches.name(row)
    site, label = facts.sites.at(int(launches.position[row]), argument=pair[1]), facts.objects.label(memory)
    return Finding(
        id=ID,
        severity="warning",
        message=(
            f"Launch {row + 1} of kernel {name} was passed {label} both as {argument_of(facts, kernel, one)}, which it reads, and as "
            f"{argument_of(facts, kernel, other)}, which it writes; none of its other {count - 1:,} launches works in place."
        ),
        evidence=(Evidence(f"what {label} held before this launch is overwritten", (site.number,)),),
        site=site,
        allocation=allocation_of(facts, memory),
        causes=(ID,),
        steps=("Look at where the buffer for the output comes from: it may still be in use as the input.",),
        facts=(("kernel", name), ("first", str(one)), ("second", str(other))),
    )
