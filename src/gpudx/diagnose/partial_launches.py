"""Why a checked kernel read elements that nothing had written: the launches that write the buffer end before them.

How far a launch writes follows from its index, its arguments and its shape: a vector kernel that leaves the rest of a division, or a
global size with two dimensions exchanged. Where an index or a guard is not understood, nothing is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from gpudx.diagnose.access_numbers import Numbers, Scalar, Why, bare, has, is_launched, shown_place, summands
from gpudx.diagnose.index_reasons import extents, launched
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.accesses import MAY, WRITE
from gpudx.kernel_checks import values
from gpudx.kernel_checks.formulas import Tree
from gpudx.kernel_checks.plan import WRITE as STORES
from gpudx.kernel_checks.plan import Site as Place
from gpudx.text import capital, plural

MOST_LAUNCHES = 500  # that are looked at
COMPARED = re.compile(r"(.+?)\s*(<=|>=|<|>)\s*(.+)")
TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
UP_TO = {"<": 0, "<=": 1, ">=": 0, ">": 1}  # what the guarded variable may still be, above the number less one


@dataclass(frozen=True)
class Reach:
    """How far a launch writes at one place."""

    numbers: Numbers
    place: Place
    last: int  # element
    tree: Tree  # of the index, with the limits that guards set

    @property
    def bytes(self) -> int:
        return (self.last + 1) * self.numbers.element

    @property
    def count(self) -> int:
        """Elements that it writes at most: with `y * width + x`, no more than there are pairs of x and y."""
        ranges = [_values_of(term, self.numbers) for _, term in summands(self.tree)]
        return min(self.last + 1, prod(filter(None, ranges))) if all(ranges) else self.last + 1


def _values_of(term: Tree, n: Numbers) -> int:
    """How many values a summand has; 0 where that is not known."""
    core = bare(term)
    parts = [one for one in core[2:] if not values.uniform(one)] if core[0] == "*" else [term]
    most = values.largest(parts[0], n.world, extents(n)) if len(parts) == 1 else None
    return 0 if most is None else 1 if values.uniform(term) else most + 1


def why(f: Failure) -> Why | None:
    """None where the host wrote some of it, or where a writer may have gone further."""
    thing = f.thing
    if f.kind != "uninitialized" or thing is None or thing.kind != "argument" or thing.space != "global" or not thing.element:
        return None
    found = _reaches(f)
    if any(one.bytes > f.offset for one in found):
        return _gap(f, found)
    if not found:
        return None
    furthest = max(reversed(found), key=lambda one: one.bytes)
    return _sentence(f, furthest, only=len({one.numbers.launch for one in found}) == 1)


def _sentence(f: Failure, reach: Reach, only: bool) -> Why:
    assert f.thing is not None
    n, element = reach.numbers, f.thing.element
    site = f.facts.sites.at(n.f.position)
    held, each = f.size // element, max(n.element // element, 1)
    written = reach.count * each
    who = f"kernel {site.kernel} (launch {site.launch})"
    line = shown_place((reach.place.file, reach.place.line))
    wrote = f"Only {who} wrote it before" if only else f"{capital(who)} wrote most of it before"
    wide = f" of {n.element} bytes" if n.element != element else ""
    goes = f"`{reach.place.text}` ({line}) goes up to element {reach.last:,}{wide}"
    text = f"{wrote}, at most {written:,} of {plural(held, 'element')}: {goes}."
    if (short := _short_dimension(reach)) is not None:
        return Why(short.cause, text, (short.step,), site, (short.text,))
    if (local := _local_id(reach, held // each)) is not None:
        place = (reach.place.file, reach.place.line)
        return Why("read-before-write", text, (local,), facts=(_launched(reach),), line=place, kernel=site.kernel or "")
    rest = held - written
    step = f"Launch enough work-items of {site.kernel} for all {held:,} elements, or write the rest of `{f.thing.name}` otherwise."
    if 0 < rest < each:
        step = (
            f"Write the last {plural(rest, 'element')} too: a work-item of {site.kernel} writes {each}, and {held:,} is not a multiple of"
            " that. Use it for such sizes only together with a kernel for the rest."
        )
    return Why("read-before-write", text, (step,), site, (_launched(reach),))


def _local_id(reach: Reach, count: int) -> str | None:
    """What to do where the launch has work-items enough for so many elements, but each group writes the same ones."""
    n = reach.numbers
    axes = {int(part[2]) for part in has(reach.tree, "id") if part[1] == "get_local_id"}
    others = {str(part[1]) for part in has(reach.tree, "id")} - {"get_local_id"}
    if len(axes) != 1 or others or n.world.ids["get_global_size", axis := axes.pop()] < count:
        return None
    total, group = n.world.ids["get_global_size", axis], n.world.ids["get_local_size", axis]
    return (
        f"Use get_global_id({axis}) instead of get_local_id({axis}) in `{reach.place.text}`: the launch has {total:,} work-items in "
        f"dimension {axis}, in groups of {group:,}."
    )


def _launched(reach: Reach) -> str:
    n = reach.numbers
    sizes = [n.world.ids["get_global_size", axis] for axis in range(3)]
    shape = " x ".join(f"{one:,}" for one in sizes if one > 1) or "1"
    launch = n.f.facts.sites.at(n.f.position).launch
    return f"launch {launch} started {shape} work-items, and each writes {plural(n.element, 'byte')} at a time"


def _gap(f: Failure, found: list[Reach]) -> Why | None:
    """An element that the launches leave out although they write elements behind it: the end of a row, with a launch that is too narrow."""
    if any(_writes_at(one, f.offset) for one in found):
        return None
    shorts = [(one, short) for one in found if (short := _short_dimension(one)) is not None]
    if len({one.numbers.launch for one, _ in shorts}) != 1:
        return None
    reach, short = shorts[0]
    site = f.facts.sites.at(reach.numbers.f.position)
    line = shown_place((reach.place.file, reach.place.line))
    who = "the only one that wrote it before" if len({one.numbers.launch for one in found}) == 1 else "which wrote some of it before"
    left = f"Kernel {site.kernel} (launch {site.launch}), {who}, left this element out: `{reach.place.text}` ({line})"
    return Why(short.cause, f"{left}; {short.text}.", (short.step,), site)


def _writes_at(reach: Reach, offset: int) -> bool:
    """May one of the launch's work-items write this byte? True where that is not known."""
    n, tree, room = reach.numbers, json.loads(reach.place.index), launched(reach.numbers)
    limits = _limits(n, reach.place)
    for one in values.parts(tree):
        limit = limits.get(values.label(one)) if one[0] == "named" else None
        core = bare(one)
        if limit is not None and core[0] == "id":
            key = core[1], int(core[2])
            room[key] = max(min(room.get(key, 0), limit[0] + 1), 1)
    return values.reached(tree, offset // n.element, n.world, room) is not False


@dataclass(frozen=True)
class Short:
    """A dimension of a launch with fewer work-items than its guard allows, and what to do about it."""

    text: str
    step: str
    cause: str = "read-before-write"


def _short_dimension(reach: Reach) -> Short | None:
    """Often two are exchanged, or the size was rounded down to whole groups."""
    n, limits = reach.numbers, _limits(reach.numbers, reach.place)
    tree = json.loads(reach.place.index)
    short = []
    for one in values.parts(tree):
        limit = limits.get(values.label(one)) if one[0] == "named" else None
        axes = {int(part[2]) for part in has(one, "id") if part[1] in ("get_global_id", "get_group_id")}
        most = values.largest(one, n.world, launched(n)) if limit is not None and len(axes) == 1 else None
        if limit is not None and most is not None and most + 1 < limit[1].value:
            short.append((values.label(one), most, limit[1], axes.pop()))
    if len(short) != 1:
        return None
    name, most, count, axis = short[0]
    shape = " x ".join(f"{n.world.ids['get_global_size', at]:,}" for at in range(3) if n.world.ids["get_global_size", at] > 1)
    text = f"`{name}` goes up to {most:,} there, and {count.label} is {count.value:,}: the launch has {shape} work-items"
    others = [one for _, one in limits.values() if one != count]
    other = next((at for at in range(3) if at != axis and is_launched(n, count.value, at)), None)
    swapped = [one for one in others if is_launched(n, one.value, axis)]
    if other is None or not swapped:
        rounded = most + 1 == n.world.ids["get_global_size", axis] and count.value - most <= n.world.ids.get(("get_local_size", axis), 0)
        up = ", and let its guard skip what is too much: the number was rounded down to whole groups" if rounded else ""
        step = f"Launch {'at least ' if rounded else ''}{count.value:,} work-items in dimension {axis}{up}."
        return Short(text, step)
    first, second = sorted((axis, other))
    step = (
        f"Swap dimensions {first} and {second} of the global size: `{name}` needs {count.value:,} work-items in dimension {axis}. If the"
        f" launch is right, swap {count.label} and {swapped[0].label}."
    )
    return Short(text, step, "argument-order")


def _reaches(f: Failure) -> list[Reach]:
    """Of all launches that may have written the buffer before; none where one of them is not understood, or where the host wrote it."""
    facts, row = f.facts, Numbers(f).memory
    table = facts.accesses
    mine = table[(table["object"] == row) & (table["position"] < f.position) & ((table["how"] & WRITE) != 0)]
    if row < 0 or len(mine) > MOST_LAUNCHES or not ((mine["how"] & MAY) != 0).all() or (mine["argument"] < 0).any():
        return []
    found: list[Reach] = []
    for one in mine:
        places = list(_writes(f, int(one["position"]), int(one["argument"])))
        if any(place is None for place in places):
            return []
        found += [place for place in places if place is not None]
    return found


def _writes(f: Failure, position: int, argument: int) -> Iterator[Reach | None]:
    """The places at which a launch writes an argument; None: one that is not understood."""
    launch = f.facts.launches.at_position(position)
    kernel = f.facts.launches.name(launch) if launch is not None else ""
    thing = next((one for one in f.things if (one.kind, one.function, one.index) == ("argument", kernel, argument)), None)
    number = f.things.index(thing) if thing is not None else -1
    places = [one for one in f.sites if one.kind == "access" and one.how & STORES and (one.kernel == kernel or one.ways)]
    if thing is None or not thing.element:
        yield None
        return
    for place in places:
        if number not in place.things and not any((way.kernel, way.argument) == (kernel, argument) for way in place.ways):
            continue
        nobody: Any = {"item": (0, 0, 0), "local": (0, 0, 0), "group": (0, 0, 0), "offset": 0, "more": 0}
        yield _reach(Numbers(replace(f, position=position, site=place, thing=thing, **nobody)), place) if place.index else None


def _reach(n: Numbers, place: Place) -> Reach | None:
    limits = {name: limit for name, (limit, _) in _limits(n, place).items()}
    tree = _limited(json.loads(place.index), limits)
    last = values.largest(tree, n.world, extents(n))
    return Reach(n, place, last, tree) if last is not None and last >= 0 else None


def _limits(n: Numbers, place: Place) -> dict[str, tuple[int, Scalar]]:
    """Variables that a guard keeps below an argument: the largest value of each, and the argument. A condition around the access holds
    there; one that comes before it, and is not around it, is where the other work-items left."""
    found: dict[str, tuple[int, Scalar]] = {}
    for argument, text in place.guards:
        parts = COMPARED.fullmatch(text)
        for scalar in n.compared(argument, text) if parts else ():
            assert parts is not None
            left, operator, right = parts.groups()
            name, operator = (left, operator) if right == scalar.name else (right, TURNED[operator])
            around = [kind for kind, _, condition in place.inside if text in condition and "||" not in condition and "!" not in condition]
            holds = ("<" in operator and "if" in around) or (">" in operator and ("else" in around or not around))
            if holds and (name not in found or scalar.value - 1 + UP_TO[operator] < found[name][0]):
                found[name] = scalar.value - 1 + UP_TO[operator], scalar
    return found


def _limited(tree: Tree, limits: dict[str, int]) -> Tree:
    inner = [_limited(one, limits) if isinstance(one, list) else one for one in tree]
    limit = limits.get(values.label(tree)) if tree[0] == "named" and bare(tree)[0] != "number" else None
    return inner if limit is None else ["call", "min", "i64", inner, ["number", limit]]
