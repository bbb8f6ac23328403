"""A launch fits the numbers that its kernel compares ids with only if two of its dimensions are swapped.

A kernel that returns where `x >= w || y >= h` expects at least w x h work-items. With the two numbers swapped on their way to the kernel,
or the two dimensions of the launch, the work-items beyond one of the numbers return at once, and the rows beyond the launch are never
computed. No access leaves a buffer of w x h elements, so nothing fails.

Example:

    size_t global[2] = {round_up(w, 16), round_up(h, 16)};
    clSetKernelArg(heat, 2, sizeof(int), &h);            // kernel: int w
    clSetKernelArg(heat, 3, sizeof(int), &w);            // kernel: int h
    clEnqueueNDRangeKernel(queue, heat, 2, NULL, global, local, 0, NULL, NULL);

Fix it by swapping the two arguments, or the two sizes, whichever of them is the wrong one.

Reported where each dimension of the launch is the number that the other dimension's id is compared with, rounded up to whole groups at
most, and one of them is too small for its own number. Launches with an offset are left out: several of them can do the work together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.facts.given_memory import uses
from gpudx.facts.set_arguments import setter
from gpudx.model import Evidence, Finding, Site

ID = "guards-exchanged"
BECAUSE = "The launch covers the numbers only if they are swapped; that the program needs the rows that are left out is not shown."
LOOKED_AT = 256  # launches of one kernel


@dataclass(frozen=True)
class Guard:
    """A number that ids of a dimension are compared with."""

    axis: int
    name: str
    argument: int
    value: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function; repeats are counted."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address & ~launches.captured)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        part = part[:LOOKED_AT]
        if len(facts.kernels.guards(int(launches.kernel_row[part[0]]))) < 2 or any(any(launches.offset(int(one))) for one in part):
            continue
        found = [(int(row), pair) for row in part if (pair := _exchanged(facts, int(row)))]
        if found:
            yield _finding(facts, *found[0], len(found))


def _numbers(facts: Facts, row: int) -> dict[str, dict[str, Any]]:
    return {one["declared"].name: one for one in facts.launches.values(row) if one["declared"] and one["object"] < 0}


def _exchanged(facts: Facts, row: int) -> tuple[Guard, Guard] | None:
    """Two dimensions that fit each other's number, of which one does not fit its own."""
    items, group = facts.launches.geometry(row)
    given = _numbers(facts, row)
    guards: dict[int, Guard] = {}
    for axis, names in facts.kernels.guards(int(facts.launches.kernel_row[row])).items():
        known = [(name, given[name]) for name in names & given.keys()]
        if len(known) == len(names) == 1:
            ((name, one_given),) = known
            guards[axis] = Guard(axis, name, int(one_given["index"]), int.from_bytes(one_given["bytes"], "little"))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        if not {one, other} <= guards.keys() or guards[one].argument == guards[other].argument:
            continue
        first, second = guards[one], guards[other]
        fits = _covers(items[one], group[one], second.value) and _covers(items[other], group[other], first.value)
        if fits and (items[one] < first.value or items[other] < second.value):
            return first, second
    return None


def _covers(items: int, group: int, number: int) -> bool:
    return 1 < number <= items < number + max(group, 1)


def _finding(facts: Facts, row: int, pair: tuple[Guard, Guard], count: int) -> Finding:
    launches = facts.launches
    site, (first, second) = facts.sites.at(int(launches.position[row])), pair
    items, group = launches.geometry(row)
    short = first if items[first.axis] < first.value else second
    shape = " x ".join(f"{one:,}" for one in items if one)
    set_by, other = setter(facts, row, first.argument), _same_names(facts, row, pair)
    names = f"`{first.name}` (argument {first.argument})", f"`{second.name}` (argument {second.argument})"
    rounded = " in whole groups" if any(one > 1 for one in group) else ""
    evidence = [
        Evidence(
            f"it compares get_global_id({one.axis}) with argument {one.argument} `{one.name}`, which is {one.value:,}, and has "
            f"{items[one.axis]:,} work-items in dimension {one.axis}",
            (site.number,),
        )
        for one in pair
    ]
    if other is not None:
        numbers = f"{first.name} = {second.value:,} and {second.name} = {first.value:,}"
        text = f"kernel {other.kernel} (launch {other.launch}) is passed {numbers} with the same buffer"
        evidence.append(Evidence(text, (other.number,)))
    swap = f"Swap {names[0]} and {names[1]} where they are set"
    sizes = f"dimensions {first.axis} and {second.axis} of the launch"
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) has {shape} work-items, which is {second.value:,} x {first.value:,}{rounded}, "
            f"but {first.name} is {first.value:,} and {second.name} is {second.value:,}: the two are swapped. Ids from "
            f"{items[short.axis]:,} to {short.value - 1:,} in dimension {short.axis} are never computed."
        ),
        evidence=tuple(evidence),
        site=site,
        others=(other,) if other is not None else (),
        count=count,
        causes=("argument-order",),
        certainty="observed",
        attribution="this" if other is not None else "probable",
        because=BECAUSE,
        root=set_by,
        steps=(f"{swap}." if other is not None else f"{swap}, or swap {sizes}.",),
        facts=(("kernel", site.kernel or "?"), ("arguments", f"{first.argument},{second.argument}")),
    )


def _same_names(facts: Facts, row: int, pair: tuple[Guard, Guard]) -> Site | None:
    """The launch of another kernel with a buffer of this one, and parameters of the same two names with the numbers the other way round."""
    table, launches = uses(facts), facts.launches
    position, kernel = int(launches.position[row]), launches.name(row)
    memory = np.unique(table["object"][(table["position"] == position) & (table["argument"] >= 0)])
    near = np.unique(table["position"][np.isin(table["object"], memory) & (table["argument"] >= 0)])
    for other in near.tolist():
        at = launches.at_position(other)
        if at is None or launches.name(at) == kernel:
            continue
        given = _numbers(facts, at)
        values = [int.from_bytes(given[one.name]["bytes"], "little") if one.name in given else -1 for one in pair]
        if values == [pair[1].value, pair[0].value]:
            return facts.sites.at(other)
    return None
