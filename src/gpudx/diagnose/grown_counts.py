"""An index that is too large because something kept counting: a counter in memory that nothing reset between launches, start values of
counters that the host wrote, or a number that the host passes and that grows with each launch.

Neither a guard in the kernel nor a larger buffer is the fix for these: the next launch only passes the new end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.diagnose.access_numbers import Numbers, Scalar, Why, bare
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.accesses import WRITE
from gpudx.kernel_checks import values
from gpudx.model import Site
from gpudx.text import listed, plural

CAUSE = "out-of-bounds-access"
COUNTED = re.compile(r"atom(?:ic)?_(?:inc|add|fetch_add\w*)\s*\(\s*&?\s*(?:\([^()]*\)\s*)?(\w+)\s*(\[)?")
MOST_EARLIER = 64  # launches that are compared with this one
LEAST_GROWN = 3  # launches with a larger number each time: fewer say nothing


def why(f: Failure) -> Why | None:
    if f.kind != "bounds" or f.thing is None or not f.thing.element or not f.size or f.offset < 0:
        return None
    numbers = Numbers(f)
    return _counter(numbers) or _passed(numbers)


# ---- counters in memory ----


@dataclass(frozen=True)
class Counter:
    """An argument with counters. `set_by`: the host's last write to it; `launches`: those that have counted since, before this one."""

    name: str
    argument: int
    is_array: bool
    set_by: Site
    launches: tuple[Site, ...]


def _counter(n: Numbers) -> Why | None:
    found = next(_counters(n), None)
    if found is None:
        return None
    name, site, kernel = f"`{found.name}`", found.set_by, n.f.facts.sites.at(n.f.position).kernel
    where = f"{site.call} at {_short(site)}" if site.source else f"{site.call} (call {site.number})"
    if found.launches:
        last, count = found.launches[-1], len(found.launches)
        before = plural(count, "earlier launch has", "earlier launches have")
        text = (
            f"The index continues from where launch {last.launch} ended: {where} set {name} (argument {found.argument}), {before} added to"
            " it since, and nothing reset it."
        )
        step = (
            f"Set {name} to its start value before each launch of {kernel}; if it has to continue, make {n.name} large enough for all of "
            "them together."
        )
        return Why(CAUSE, text, (step,), site)
    if not found.is_array or "Fill" in site.call:
        return None
    what = f"The index is an element of {name} (argument {found.argument}), which this launch counts up"
    text = f"{what}, and {where} wrote where each begins."
    step = (
        f"Check the start values that are written to {name}: each must leave enough room for what is counted from it"
        f" ({n.name} has {n.held:,} {n.parts[0].unit if n.parts else 'elements'})."
    )
    return Why(CAUSE, text, (step,), site)


def _counters(n: Numbers) -> Iterator[Counter]:
    facts, launch = n.f.facts, n.launch
    given = {int(one["index"]): int(one["object"]) for one in facts.launches.values(launch)} if launch is not None else {}
    kernel = facts.launches.name(launch) if launch is not None else ""
    for part in values.parts(n.tree) if n.tree is not None else ():
        counted = COUNTED.match(values.label(part)) if part[0] == "open" else None
        names = [one.index for one in n.f.things if counted and (one.kind, one.function, one.name) == ("argument", kernel, counted[1])]
        row = given.get(names[0], -1) if names else -1
        if counted is None or row < 0:
            continue
        table = facts.accesses
        mine = table[(table["object"] == row) & (table["position"] < n.f.position) & ((table["how"] & WRITE) != 0)]
        by_host = mine["position"][mine["argument"] < 0]
        born = int(facts.objects.table["born"][row])
        since = int(by_host[-1]) if len(by_host) else born if facts.objects.table["host_ptr"][row] else -1
        if since < 0:
            continue
        counting = sorted(set(mine["position"][(mine["argument"] >= 0) & (mine["position"] > since)].tolist()))
        again = tuple(site for site in map(facts.sites.at, counting[-MOST_EARLIER:]) if site.kernel == kernel)
        yield Counter(counted[1], names[0], bool(counted[2]), facts.sites.at(since), again)


# ---- numbers that the host passes ----


def _passed(n: Numbers) -> Why | None:
    """A number in the index, or the one that guards it, has grown with each launch until the buffer was full."""
    guard = n.wide_guard()
    used = {bare(one)[1] for one in values.parts(n.tree) if bare(one)[0] == "argument"} if n.tree is not None else set()
    starts = [one for one in n.scalars if one.argument in used and not one.is_field and 0 < one.value <= n.index]
    for one in [*starts, *([guard[0]] if guard else [])]:
        grown = _grown(n, one)
        if len(grown) < LEAST_GROWN or n.is_local:
            continue
        before = ", ".join(f"{number:,} in launch {launch}" for launch, number in grown[-3:-1])
        site = n.f.facts.sites.at(n.f.position)
        text = (
            f"Argument {one.argument} `{one.label}` grows with each launch ({before}, {one.value:,} in launch {site.launch}), and "
            f"{n.name} stays at {n.held:,} elements."
        )
        if replaced := _replaced(n):
            names = listed([f"`{name}`" for name in replaced])
            text += f" {names} {'was' if len(replaced) == 1 else 'were each'} replaced by a larger buffer; {n.name} was not."
            return Why(CAUSE, text, (f"Grow {n.name} together with {names}: it is the only one that kept its buffer.",), n.allocated())
        more = f"`{one.label}` and what the launch adds to it" if one in starts else f"`{one.label}`"
        step = f"Before the launch, compare {more} with the size of {n.name}: a larger buffer is full some launches later."
        return Why(CAUSE, text, (step,), n.passed_at(one.argument))
    return None


def _replaced(n: Numbers) -> list[str]:
    """Other arguments that got a larger buffer after the first launch of the kernel; none unless all buffers like this one did."""
    launches, row, sizes = n.f.facts.launches, n.launch, n.f.facts.objects.table["size"]
    alike = [one for one in range(max(0, (row or 0) - MOST_EARLIER), row or 0) if launches.name(one) == launches.name(row or 0)]
    if row is None or not alike:
        return []
    first, now = ({int(one["index"]): int(one["object"]) for one in launches.values(at)} for at in (alike[0], row))
    names = {int(one["index"]): one["declared"].name for one in launches.values(row) if one["declared"]}
    grown = [at for at, obj in now.items() if obj >= 0 and first.get(at, -1) >= 0 and sizes[obj] > sizes[first[at]]]
    same = [at for at, obj in now.items() if obj >= 0 and first.get(at) == obj]
    return [names[at] for at in grown if at in names] if same == [n.argument] else []


def _grown(n: Numbers, one: Scalar) -> list[tuple[int, int]]:
    """(launch, number) of this launch and the ones before it of the same kernel and buffer, while the number grows with each."""
    launches, row, found = n.f.facts.launches, n.launch, [(0, one.value)]
    if row is None:
        return []
    for earlier in range(row - 1, max(-1, row - MOST_EARLIER), -1):
        alike = launches.name(earlier) == launches.name(row)
        given = {int(value["index"]): value for value in launches.values(earlier)} if alike else {}
        if n.argument not in given or int(given[n.argument]["object"]) != n.memory or one.argument not in given:
            continue
        number = int.from_bytes(given[one.argument]["bytes"], "little")
        if not 0 <= number < found[-1][1]:
            break
        found.append((n.f.facts.sites.at(int(launches.position[earlier])).launch or 0, number))
    return found[::-1]


def _short(site: Site) -> str:
    return (site.source or "").rpartition("/")[2]
