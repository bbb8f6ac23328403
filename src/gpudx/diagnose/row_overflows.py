"""An index that leaves its row: the access lands in the next row of the same memory, where another work-item's element is.

Inside the array or buffer nothing is out of bounds, and what shows is a race. A barrier does not help: the numbers of the row are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.diagnose.access_numbers import EXTENTS, Numbers, Why, bare, summands
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.diagnose.race_reasons import Race
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree
from gpudx.kernel_checks.values import World
from gpudx.text import capital

CAUSE = "out-of-bounds-access"
COUNTER = re.compile(r"atom(?:ic)?_(?:inc|add|fetch_add\w*)\s*\(\s*&?\s*(.*?\])")  # with the element that counts


def why(f: Failure) -> Why | None:
    if f.thing is None or f.kind not in ("race", "bounds"):
        return None
    numbers = Numbers(f)
    return _past_inner_dimension(numbers) or (_counted_past_row(numbers) if f.kind == "race" else None)


# ---- arrays of arrays ----


def _past_inner_dimension(n: Numbers) -> Why | None:
    """`t[y][x]` with x outside of the row."""
    f = n.f
    if n.tree is None or n.argument >= 0 or "][" not in f.site.text:
        return None
    for world in _worlds(n):
        for column, stride in _columns(n.tree):
            number = _known(column, world)
            if number is not None and number >= stride:
                return _left_row(n, column, number, stride, world)
    return None


def _worlds(n: Numbers) -> Iterator[World]:
    """This work-item, and of a race the other one, where it executed the same statement."""
    yield n.solved or n.world
    if n.f.kind == "race":
        race = Race(n.f)
        if not race.across and not race.several and race.is_same_place:
            yield from race.partners()


def _columns(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """The inner subscripts of `a[z][y][x]`, each with the elements of its dimension."""
    core = bare(tree)
    while core[0] == "+" and bare(core[2])[0] == "*" and bare(core[2])[3][0] == "number":
        yield core[3], int(bare(core[2])[3][1])
        core = bare(bare(core[2])[2])


def _known(tree: Tree, world: World) -> int | None:
    try:
        return values.value(tree, world)
    except values.Unknown:
        return None


def _left_row(n: Numbers, column: Tree, number: int, stride: int, world: World) -> Why:
    name, core = values.text(column), bare(column)
    axis = int(core[2]) if core[0] == "id" and core[1] in EXTENTS else -1
    extent, words = EXTENTS[core[1]] if axis >= 0 else ("", "")
    count = world.ids.get((extent, axis))
    text = f"`{name}` is {number:,}, and a row of {n.name} has {stride:,} elements: the access is to a later row."
    if count is None or count <= stride:
        return Why(CAUSE, text, (f"Keep `{name}` below {stride:,}, or declare longer rows for {n.name}.",))
    sizes = [world.ids.get(("get_local_size", one), 1) for one in range(3)]
    groups = " x ".join(f"{one:,}" for one in sizes[: max(axis + 1, sum(one > 1 for one in sizes))])
    text = f"`{name}` is up to {count - 1:,} in groups of {groups}, and a row of {n.name} has {stride:,} elements."
    step = f"Launch at most {stride:,} {words} in dimension {axis}, or declare rows of {count:,} elements for {n.name}."
    return Why(CAUSE, text, (step,), n.f.facts.sites.at(n.f.position))


# ---- slots from a counter ----


def _counted_past_row(n: Numbers) -> Why | None:
    """`cells[c * cap + slot]` with the slot from an atomic counter of c: no two work-items have the same c and slot, so that two of them
    meet only where a slot is outside of its row."""
    terms = list(summands(n.tree)) if n.tree is not None else []
    rows = [core for sign, one in terms if sign > 0 and (core := bare(one))[0] == "*"]
    slots = [one for sign, one in terms if sign > 0 and bare(one)[0] == "open" and COUNTER.match(values.label(bare(one)))]
    if len(terms) != 2 or len(rows) != 1 or len(slots) != 1 or not n.f.writes:
        return None
    counted = COUNTER.match(values.label(bare(slots[0])))
    assert counted is not None
    for row, by in ((rows[0][2], rows[0][3]), (rows[0][3], rows[0][2])):
        stride = _known(by, n.world) if values.uniform(by) else None
        own = re.search(rf"\b{re.escape(values.text(row))}\b", counted[1]) if values.text(row).isidentifier() else None
        if stride is None or stride < 1 or own is None:
            continue
        slot, label = values.text(slots[0]), values.text(by)
        last = n.index // stride
        before = f", or {last - 1:,} * {stride:,} + {n.index - (last - 1) * stride:,}" if last else ""
        fact = f"element {n.index:,} is {last:,} * {stride:,} + {n.index % stride:,}{before}"
        given = f"`{label}` is {stride:,}" if not label.isdigit() else f"a row has {stride:,} elements"
        text = f"{given}, and `{slot}` is {stride:,} or more for one of the two: `{counted[1]}` counts past the row."
        step = f"Skip the work-items where `{slot}` is not less than `{label}`, or make the rows longer than the largest `{counted[1]}`."
        argument = bare(by)[1] if bare(by)[0] == "argument" else -1
        return Why(CAUSE, capital(text), (step,), n.passed_at(argument) if argument >= 0 else None, (fact,))
    return None
