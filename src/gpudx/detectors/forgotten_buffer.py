"""A kernel is passed one buffer for two arguments, and a buffer that fits one of them was filled and never used.

Any buffer can be passed for any argument, so a wrong variable goes unnoticed if its buffer is large enough.

Example:

    k.setArg(0, weights);
    k.setArg(1, weights);            // bias is meant: it was filled, and no call uses it
    k.setArg(2, input);

Fix it by passing the buffer that was filled for this argument.

Reported if all of this holds:

- The kernel only reads both arguments, and each work-item uses one of them at its own id only.
- The unused buffer has exactly one element for each work-item, or for the number that the launch is rounded up from.
- The buffer that is passed has more elements than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST, groups
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import KINDS
from gpudx.facts.set_arguments import setter
from gpudx.model import Evidence, Finding
from gpudx.text import several

ID = "forgotten-buffer"
NEEDS_EVERY_CALL = NEEDS_EVERY_WRITE = True
SHOWN = 3
BECAUSE = "The trace shows a buffer that was filled for nothing, and one that is passed twice; what the program meant is not recorded."
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function."""
    forgotten = filled_and_unused(facts)
    if len(forgotten):
        yield from islice(_findings(facts, run, forgotten), MOST)


def filled_and_unused(facts: Facts) -> I64:
    """Buffers that the host filled and that nothing else was done with."""
    table, objects = uses(facts), facts.objects.table
    by_host = (table["argument"] < 0) & ((table["how"] & WRITE) != 0)
    used, written = np.unique(table["object"][~by_host]), np.unique(table["object"][by_host])
    rows = np.flatnonzero((objects["kind"] == KINDS.index("buffer")) & (objects["size"] > 0))
    filled = np.isin(rows, written) | (objects["host_ptr"][rows] != 0)
    parents = np.unique(objects["parent"][objects["parent"] >= 0])
    return rows[filled & ~np.isin(rows, used) & ~np.isin(rows, parents)]


def _findings(facts: Facts, run: Run, forgotten: I64) -> Iterator[Finding]:
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        kernel, row = int(launches.kernel_row[part[0]]), int(part[0])
        own, given = facts.kernels.at_own_id(kernel), [one for one in launches.values(row) if one["declared"] and one["object"] >= 0]
        for one, other in permutations(given, 2):
            same = one["object"] == other["object"] and one["declared"].name in own
            if not same or not (_reads(facts, kernel, one) and _reads(facts, kernel, other)):
                continue
            sizes = _needed(facts, row, one)
            fitting = [obj for obj in forgotten.tolist() if int(facts.objects.table["size"][obj]) in sizes]
            if fitting and int(facts.objects.table["size"][one["object"]]) not in sizes:
                yield _finding(facts, run, row, one, other, fitting, len(part))
                break


def _reads(facts: Facts, kernel: int, one: dict[str, Any]) -> bool:
    return bool(one["declared"].read_only) or facts.kernels.only_reads(kernel, int(one["index"]))


def _needed(facts: Facts, row: int, one: dict[str, Any]) -> set[int]:
    """Bytes that an argument needs: an element for each work-item, or for each of a number that is passed and smaller."""
    items, group = facts.launches.geometry(row)
    element = one["declared"].element
    if not element or any(facts.launches.offset(row)) or any(count > 1 for count in items[1:]):
        return set()
    numbers = [int.from_bytes(bytes(v["bytes"]), "little") for v in facts.launches.values(row) if v["object"] < 0 and v["size"] in (4, 8)]
    counts = {items[0], *(number for number in numbers if items[0] - max(group[0], 1) < number <= items[0])}
    return {count * element for count in counts if count > 1}


def _finding(
    facts: Facts, run: Run, row: int, one: dict[str, Any], other: dict[str, Any], fitting: list[int], count: int
) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]), argument=int(one["index"]))
    passed, sizes = int(one["object"]), facts.objects.table["size"]
    labels = several([facts.objects.label(obj) for obj in fitting[:SHOWN]])
    made = facts.sites.at(int(facts.objects.table["born"][fitting[0]]))
    name, second = f"argument {one['index']} `{one['declared'].name}`", f"argument {other['index']} `{other['declared'].name}`"
    many = len(fitting) > 1
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",  # a program may pass one buffer twice, and fill another for nothing
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) is passed {facts.objects.label(passed)} as {name} and as {second}, and {labels}, "
            f"which {'fit' if many else 'fits'} {name}, {'were' if many else 'was'} filled and never used."
        ),
        evidence=(
            Evidence(
                f"each work-item uses {name} at its own id: {int(sizes[fitting[0]]):,} bytes, which is the size of {labels}; "
                f"{facts.objects.label(passed)} has {int(sizes[passed]):,}",
                (site.number,),
            ),
            Evidence(f"{made.call} (call {made.number}) made {facts.objects.label(fitting[0])}", (made.number,)),
        ),
        site=site,
        others=(made,),
        count=count,
        allocation=allocation_of(facts, passed),
        causes=("argument-order",),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        root=setter(facts, row, int(one["index"])),
        steps=(f"Pass the buffer that was filled for {name}.",),
        facts=(("kernel", site.kernel or "?"), ("argument", str(one["index"]))),
    )
