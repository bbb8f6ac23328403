"""Do the accesses of a kernel fit its buffers with other numbers, in all of its launches? Asked of two arguments in the wrong order, and of
a launch with a multiple of the work-items that there is room for: one per element of a kernel that works on pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpudx.diagnose.access_numbers import Numbers, Why, has
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree
from gpudx.kernel_checks.values import OPEN, World

PARTS = (2, 3, 4, 8, 16)
WORDS = {2: "half", 3: "a third", 4: "a quarter"}
MOST_LAUNCHES, MOST_ITEMS, LEAST_ITEMS = 8, 512, 16  # that are computed


@dataclass(frozen=True)
class _Use:
    """An access whose index the source says: how it is computed, and the elements of the buffer."""

    tree: Tree
    held: int
    argument: int


def why(n: Numbers) -> Why | None:
    """A launch in one dimension, of which just the first part of the work-items stays inside and fills the buffer."""
    ids = n.world.ids
    total = ids["get_global_size", 0]
    if n.tree is None or n.is_local or n.index < n.held or n.f.site.guards or has(n.tree, *OPEN) or not has(n.tree, "id"):
        return None
    if ids["get_global_size", 1] > 1 or ids["get_global_size", 2] > 1 or total < LEAST_ITEMS or n.global_offset(0):
        return None
    launches = list(_launches(n))
    for part in (one for one in PARTS if total % one == 0):
        if launches and all(_fits(one, part) for one in launches):
            return _told(n, total, total // part, part, len(launches))
    return None


def _told(n: Numbers, total: int, fitting: int, part: int, launches: int) -> Why:
    every = f"; so it is in each of {launches} launches that were computed" if launches > 1 else ""
    share = f"{WORDS[part]} as many" if part in WORDS else f"1/{part} of them"
    text = f"The launch has {total:,} work-items, and {n.name} has room for {fitting:,}, {share}: ids from {fitting:,} go outside{every}."
    step = f"Launch {fitting:,} work-items instead of {total:,}, or skip ids from {fitting:,} on in the kernel."
    return Why("out-of-bounds-access", text, (step,))


def all_inside(n: Numbers, exchanged: tuple[int, int]) -> bool:
    """Would every access of the kernel whose index is known stay inside its buffer with these two arguments exchanged, in all launches?"""
    a, b = exchanged
    for one in _launches(n):
        given = one.world.arguments
        world = replace(one.world, arguments={**given, a: given[b], b: given[a]}) if {a, b} <= given.keys() else one.world
        last = one.world.ids["get_global_size", 0] - 1
        for use in _uses(one):
            index = _value(use.tree, _at(world, last))
            if index is not None and not 0 <= index < use.held:
                return False
    return True


def _launches(n: Numbers) -> Iterator[Numbers]:
    """This launch, and others of its kernel, with their own numbers."""
    launches = n.f.facts.launches
    if n.launch is None:
        return
    yield n
    same = np.flatnonzero((launches.kernel_row == launches.kernel_row[n.launch]) & (launches.status == 0))
    for row in same[:MOST_LAUNCHES].tolist():
        if row != n.launch:
            yield Numbers(replace(n.f, position=int(launches.position[row])))


def _uses(n: Numbers) -> list[_Use]:
    """The accesses to buffers that no condition decides about and whose index needs nothing that is only known while the kernel runs."""
    given = {int(one["index"]): one for one in n.f.facts.launches.values(n.launch)} if n.launch is not None else {}
    found = []
    for site in n.f.sites:
        memory = given.get(site.argument)
        if site.kernel != n.f.site.kernel or not site.index or site.guards or memory is None or memory["object"] < 0:
            continue
        tree, element = json.loads(site.index), memory["declared"].element if memory["declared"] else 0
        if element and not has(tree, *OPEN):
            found.append(_Use(tree, int(n.f.facts.objects.table["size"][memory["object"]]) // element, site.argument))
    return found


def _fits(n: Numbers, part: int) -> bool:
    """Do all accesses of the first work-items stay inside, up to the last element, and do all others leave the buffer?"""
    total, uses = n.world.ids["get_global_size", 0], _uses(n)
    mine = [use for use in uses if use.argument == n.argument]
    fitting, odd = divmod(total, part)
    if odd or not mine or not fitting:
        return False
    inside = [(use, _value(use.tree, _at(n.world, item))) for item in _some(0, fitting) for use in uses]
    outside = [[_value(use.tree, _at(n.world, item)) for use in mine] for item in _some(fitting, total)]
    fills = any(use in mine and index == use.held - 1 for use, index in inside)
    kept = all(index is not None and 0 <= index < use.held for use, index in inside)
    return fills and kept and all(any(index is None or index >= mine[0].held for index in one) for one in outside)


def _some(first: int, end: int) -> list[int]:
    """All ids of a range, or some with both ends."""
    step = max(1, (end - first) // MOST_ITEMS)
    return sorted({*range(first, end, step), end - 1})


def _at(world: World, item: int) -> World:
    """With the ids of a work-item of a launch in one dimension."""
    each = world.ids.get(("get_local_size", 0), 0)
    ids: Mapping[tuple[str, int], int] = {**world.ids, ("get_global_id", 0): item}
    if each:
        ids = {**ids, ("get_local_id", 0): item % each, ("get_group_id", 0): item // each}
    return replace(world, ids=ids)


def _value(tree: Tree, world: World) -> int | None:
    try:
        return values.value(tree, world)
    except values.Unknown:
        return None
