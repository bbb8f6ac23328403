"""Why two work-items meet at one element: the other access, and the numbers of an index that is the same for both.

A race has two kinds of reason. Either the accesses are at two places and a barrier is missing between them, or both work-items execute
the same statement and its index gives them the same element: a row that is shorter than the range of ids, an id that the index does not
use, a division. A barrier does not help against the second kind, because the elements are shared at one and the same statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Literal

from gpudx.diagnose.access_numbers import Numbers, Scalar, Why, bare, has, is_launched
from gpudx.diagnose.index_reasons import filled_by
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.kernel_checks import values
from gpudx.kernel_checks.plan import ATOMICALLY, READ, WRITE, Site
from gpudx.kernel_checks.values import World
from gpudx.text import capital, plural

SEVERAL = 1023  # in place of a work-item of global memory, which is kept modulo this number (kernel_checks/prelude.py)
WROTE, OTHER_GROUP, SEVERAL_READ = 2, 4, 3
MANY_GROUPS = 2
MOST_PLACES = 2  # that one sentence names
LONGEST = 60  # characters of a formula in a sentence
FOLDING = {"/": "division", "%": "remainder", ">>": "shift", "&": "mask", "call": "limit"}  # what maps several ids to one number
ID_OF = ("get_global_id", "get_local_id", "get_group_id")
Place = tuple[int, int, int]


class Race:
    """One reported race."""

    def __init__(self, f: Failure) -> None:
        self.f, self.n = f, Numbers(f)
        code = f.more >> 32
        self.item = f.more & 0xFFFFFFFF  # of the other one, in its group
        self.across = bool(code & OTHER_GROUP)
        self.wrote = code != SEVERAL_READ and bool(code & WROTE)
        self.several = code == SEVERAL_READ or (self.item == SEVERAL and not self.n.is_local)

    @property
    def deed(self) -> str:
        return "write" if self.wrote else "read"

    @property
    def local(self) -> str:
        """The local id of the other one, in as many dimensions as a group has: "29", "(13, 1)"."""
        x, y, z = (self.n.world.ids.get(("get_local_size", axis), 1) for axis in range(3))
        local = (self.item % x, self.item // x % y, self.item // (x * y))
        used = 3 if z > 1 else 2 if y > 1 else 1
        return f"{self.item:,}" if used == 1 else f"({', '.join(map(str, local[:used]))})"

    @cached_property
    def others(self) -> tuple[Site, ...]:
        """Places at which the other work-item can have accessed the element; one, where the source and the numbers say which."""
        site, sites = self.f.site, self.f.sites
        if site not in sites or site.before is None or not site.things:
            return ()
        own = sites.index(site) + 1
        found: dict[tuple[int, str], Site] = {}
        for number, one in enumerate(sites, 1):
            same = one.kernel == site.kernel and set(one.things) & set(site.things) and one.before is not None
            if not same or one.how & ATOMICALLY or not one.how & (WRITE if self.wrote else READ):
                continue
            near = self.across or number == own or number in site.before or own in (one.before or ())
            if near and self._may_meet(one):
                found.setdefault((one.line, one.text), one)
        return tuple(found.values())

    def _may_meet(self, one: Site) -> bool:
        """Can the other work-item have this element there? True where the numbers do not say."""
        tree = json.loads(one.index) if one.index else None
        if tree is None or self.across:
            return tree is None or not values.impossible(tree, self.n.index, replace(self.n.world, ids=_sizes(self.n.world)))
        worlds = list(self.partners())
        return not worlds or any(not values.impossible(tree, self.n.index, world) for world in worlds)

    def partners(self) -> Iterator[World]:
        """The other work-item, where the shape of groups is known. For global memory its number is kept modulo SEVERAL, and SEVERAL itself
        means that more than one read the element."""
        ids = self.n.world.ids
        sizes = [ids.get(("get_local_size", axis), 0) for axis in range(3)]
        if not all(sizes):
            return
        total = sizes[0] * sizes[1] * sizes[2]
        one_of = range(self.item, total, total if self.n.is_local else SEVERAL)
        for item in range(total) if self.item == SEVERAL and not self.n.is_local else one_of:
            local = (item % sizes[0], item // sizes[0] % sizes[1], item // (sizes[0] * sizes[1]))
            if local != self.f.local:
                yield _moved(self.n.world, self.f, local)

    @cached_property
    def one_other(self) -> Site | None:
        return self.others[0] if len(self.others) == 1 else None

    @cached_property
    def is_same_place(self) -> bool:
        site, other = self.f.site, self.one_other
        return other is not None and (other.line, other.text) == (site.line, site.text)


def _sizes(world: World) -> dict[tuple[str, int], int]:
    return {key: number for key, number in world.ids.items() if key[0] not in ID_OF}


def _moved(world: World, f: Failure, local: Place) -> World:
    ids = dict(world.ids)
    for axis in range(3):
        ids["get_local_id", axis] = local[axis]
        ids["get_global_id", axis] = f.item[axis] - f.local[axis] + local[axis]
    return replace(world, ids=ids)


def of(f: Failure) -> Race | None:
    return Race(f) if f.kind == "race" and f.thing is not None else None


# ---- words ----


def other_side(f: Failure) -> str:
    """ "a read by the work-item with local id 1 of the same group"."""
    race = Race(f)
    if race.across:
        return f"a {race.deed} by a work-item of another group"
    if race.several:
        return f"{race.deed}s by other work-items of the same group"
    return f"a {race.deed} by the work-item with local id {race.local} of the same group"


def why(f: Failure) -> Why | None:
    """The reason of a race, where the index or the order of two lines says it."""
    race = of(f)
    if race is None:
        return None
    return _same_element(race) or _same_data(race) or _missing_barrier(race) or _two_places(race)


def _met(race: Race) -> str:
    """ "The other access is the read `tile[w - 1]` at line 31."; "" where it is not known, or at the same line."""
    if not race.others or len(race.others) > MOST_PLACES or race.is_same_place:
        return ""
    places = " or ".join(f"`{one.text}` at line {one.line}" for one in race.others)
    return f"The other access is the {race.deed} {places}"


def _two_places(race: Race) -> Why | None:
    """Where it is known at most. What to do about it is said with the race."""
    text = _met(race)
    return Why("race-in-kernel", f"{text}.") if text else None


def _missing_barrier(race: Race) -> Why | None:
    """Two places in one group, with nothing between them."""
    site, other = race.f.site, race.one_other
    if other is None or race.is_same_place or race.across or (not race.n.is_local and _groups(race) >= MANY_GROUPS):
        return None
    fence = "CLK_LOCAL_MEM_FENCE" if race.n.is_local else "CLK_GLOBAL_MEM_FENCE"
    own = race.f.sites.index(site) + 1
    number = race.f.sites.index(other) + 1
    ahead = number in (site.before or ())  # the other one comes first
    first, second = (other, site) if ahead else (site, other)
    if ahead and own in (other.before or ()):
        first, second = sorted((site, other), key=lambda one: one.line)  # in a loop, either can come first
    meets_again = own in (site.before or ()) or (ahead and own in (other.before or ()))
    step = _in_loop_of(race, f"barrier({fence})", first, second) or _where_barrier_goes(f"barrier({fence})", first, second, meets_again)
    return Why("race-in-kernel", f"{_met(race)}, and no barrier separates the two.", (step,))


def _in_loop_of(race: Race, barrier: str, first: Site, second: Site) -> str:
    """Where only the second access is in a loop, whose turns no barrier separates either: in front of the loop, it would not be enough."""
    loop = next((one for one in second.inside if one[0] == "loop" and one not in first.inside), None)
    earlier = [race.f.sites[number - 1] for number in second.before or ()]
    if loop is None or first.line >= loop[1] or not any(loop in one.inside for one in earlier):
        return ""
    choices = [text for kind, _, text in second.inside[second.inside.index(loop) + 1 :] if kind == "if"]
    outside = f", ahead of `if ({choices[0]})`" if choices else ""
    return (
        f"Put {barrier} at the start of the body of the loop at line {loop[1]}{outside}: no barrier separates line {second.line} from line "
        f"{first.line}, nor from its own earlier turns."
    )


def _where_barrier_goes(barrier: str, first: Site, second: Site, again: bool) -> str:
    """Every work-item of the group has to reach a barrier, so that it never goes into an `if`. `again`: a loop comes back to the first
    access after the second."""
    around = [one for one, other in zip(first.inside, second.inside, strict=False) if one == other]
    loop = max((at for at, one in enumerate(around) if one[0] == "loop"), default=-1)
    choices = [text for kind, _, text in around[loop + 1 :] if kind != "loop"]
    outer = [text for kind, _, text in around[: loop + 1] if kind != "loop"]
    if first.line > second.line or (first.line == second.line and again and loop >= 0):
        behind = f", outside `if ({choices[0]})`" if choices else ""
        next_one = f"line {second.line}" if first.line != second.line else "it again"
        step = (
            f"Put {barrier} after line {first.line}{behind}, at the end of the loop's body: the next iteration runs {next_one}"
            f" while other work-items are still at line {first.line}."
        )
    elif first.line == second.line:
        step = (
            f"Split line {first.line} into two statements with {barrier} between the {_deed(first)} `{first.text}` and the"
            f" {_deed(second)} `{second.text}`."
        )
        step = f"{step} Close `if ({choices[0]})` before the barrier and open it again after it." if choices else step
    elif choices:
        step = (
            f"Close `if ({choices[0]})` after line {first.line}, put {barrier} there, and open it again before line {second.line}: every"
            " work-item of the group has to reach the barrier."
        )
    else:
        step = f"Put {barrier} between line {first.line} and line {second.line}, where every work-item of the group reaches it."
    return f"{step} All work-items of the group have to run the loop, so move `if ({outer[0]})` inside of it." if outer else step


def _deed(site: Site) -> str:
    return "update" if site.how & READ and site.how & WRITE else "write" if site.how & WRITE else "read"


def has_several_groups(f: Failure) -> bool:
    """Barriers order the work-items of one group only."""
    return _groups(Race(f)) >= MANY_GROUPS


def met_through(f: Failure, arguments: Sequence[int]) -> int:
    """Of arguments with the same buffer, the first that the kernel uses as the other work-item did: for writing, or for reading."""
    how = WRITE if Race(f).wrote else READ
    kernel = f.facts.sites.at(f.position).kernel
    used = {f.things[at].index for one in f.sites if one.how & how for at in one.things if f.things[at].function == kernel}
    return next((one for one in arguments if one in used), arguments[0])


def conflict(f: Failure, found: Sequence[Failure]) -> Literal["read and store", "exchange", "stores", "update"]:
    """What the work-items of a kernel race for, in all races for one array: a sum in two statements is read at one and lost at another."""
    name = f.facts.sites.at(f.position).kernel
    same = [one for one in found if one.kind == "race" and one.thing == f.thing and one.facts.sites.at(one.position).kernel == name]
    if any(f.atomic or (f.reads and f.writes) for f in same):
        return "update"
    if any(f.stores for f in same):
        return "stores"
    return "exchange" if any(map(_is_exchange, same)) else "read and store"


def _is_exchange(f: Failure) -> bool:
    """Do the work-items of a group pass each other values? PoCL keeps them in step where a loop has a barrier, also one too few."""
    in_loop = any(kind == "loop" for kind, _, _ in f.site.inside)
    return Race(f).n.is_local or (not Race(f).across and in_loop and f.has_barrier)


def step_between_groups(f: Failure, name: str) -> str:
    """Barriers do not order groups: which of the ways that are left fits the two accesses."""
    race, site = Race(f), f.site
    if f.writes and race.wrote:
        return f"Give each work-item its own element of {name}, or let one of them write it: of two stored values, one is lost."
    other = race.one_other
    if other is not None and not race.is_same_place:
        write, read = (site, other) if f.writes else (other, site)
        if _comes_first(f, write, read) and not _comes_first(f, read, write):
            return (
                f"Split the kernel between line {write.line} and line {read.line}: barriers do not order groups, and a second launch reads "
                f"what all of them have written to {name}."
            )
        if _comes_first(f, read, write) and not _comes_first(f, write, read):
            return (
                f"Write to a second buffer instead of {name}, and exchange the two between launches: one group writes it at line "
                f"{write.line} while another may still have to read it at line {read.line}."
            )
    return f"Use an atomic function on {name}, give each work-item its own element, or split the kernel: barriers do not order groups."


def _comes_first(f: Failure, one: Site, other: Site) -> bool:
    """May a work-item come to the one before the other, in a kernel without a loop around both, or with nothing in between?"""
    looped = any(kind == "loop" for place in (one, other) for kind, _, _ in place.inside)
    return f.sites.index(one) + 1 in (other.before or ()) or (not looped and one.line < other.line)


def _groups(race: Race) -> int:
    """How many work-groups the launch has; where the driver chose their size, more than one is assumed."""
    counts = [race.n.world.ids.get(("get_num_groups", axis)) for axis in range(3)]
    if any(one is None for one in counts):
        return MANY_GROUPS
    return int(counts[0] or 1) * int(counts[1] or 1) * int(counts[2] or 1)


def _same_data(race: Race) -> Why | None:
    """One statement that only writes, at an index that both work-items have from memory: each write replaces the other."""
    n, f = race.n, race.f
    if n.tree is None or f.reads or not race.wrote or not race.is_same_place:
        return None
    read = next((values.label(one) for one in has(n.tree, "load", "open") if "[" in values.label(one)), None)
    if read is None:
        return None
    loads = [one for one in has(n.tree, "load") if int(one[3]) >= 0]
    source = f", read from argument {loads[0][3]} `{read.partition('[')[0].strip()}`" if loads else ", which it read from memory"
    text = f"Both work-items write element {n.index:,}: `{read}`{source}, gives them the same index."
    step = (
        f"Check the values that `{read}` is computed from: no two work-items may get the same index. An atomic function does not help, as"
        " one of the two values would be lost."
    )
    return Why("race-in-kernel", text, (step,), facts=filled_by(n, loads[0]) if loads else ())


# ---- one statement, one element, two work-items ----


def _same_element(race: Race) -> Why | None:
    """Both work-items compute the index with the same formula, and it gives both the same element."""
    n, f = race.n, race.f
    alike = (f.writes and race.wrote) or any(one.index == f.site.index for one in race.others)
    if not alike or n.tree is None or n.solved is None or n.is_local or has(n.tree, "open", "load"):
        return None
    ids = {(one[1], int(one[2])) for one in has(n.tree, "id") if one[1] in ID_OF}
    if not ids:
        return None  # one element for all of them: an update that needs an atomic function, or one work-item
    for rule in (_short_row, _repeated_local_id, _one_per_group, _unused_id, _folded_id):
        found = rule(race, ids)
        if found is not None:
            return found
    return None


def _index(race: Race, item: Place, opened: dict[str, int] | None = None) -> int | None:
    """The index that another work-item has at this statement."""
    n, f = race.n, race.f
    assert n.tree is not None and n.solved is not None
    ids = dict(n.solved.ids)
    for axis in range(3):
        offset, each = n.global_offset(axis), ids.get(("get_local_size", axis))
        ids["get_global_id", axis] = item[axis]
        if item[axis] != f.item[axis]:
            for name in ("get_local_id", "get_group_id"):
                ids.pop((name, axis), None)
            if each:
                ids["get_group_id", axis], ids["get_local_id", axis] = divmod(item[axis] - offset, each)
    world = replace(n.solved, ids=ids, open={**n.solved.open, **(opened or {})})
    try:
        return values.value(n.tree, world)
    except values.Unknown:
        return None


def _extent(race: Race, axis: int) -> range:
    first = race.n.global_offset(axis)
    return range(first, first + race.n.world.ids["get_global_size", axis])


def _step_of(race: Race, axis: int) -> int | None:
    """How far the index goes with the next id of a dimension, if that is always as far."""
    item, extent = race.f.item, _extent(race, axis)
    if len(extent) < 2:
        return None
    places = [replace_at(item, axis, place) for place in {extent[0], extent[1], extent[-2], extent[-1]}]
    ahead = [(place, replace_at(item, axis, place[axis] + 1)) for place in places if place[axis] + 1 in extent]
    found = {_difference(race, one, other) for one, other in ahead}
    return found.pop() if len(found) == 1 else None


def _difference(race: Race, one: Place, other: Place) -> int | None:
    a, b = _index(race, one), _index(race, other)
    return None if a is None or b is None else b - a


def replace_at(item: Place, axis: int, number: int) -> Place:
    return (number if axis == 0 else item[0], number if axis == 1 else item[1], number if axis == 2 else item[2])


def _short_row(race: Race, ids: set[tuple[str, int]]) -> Why | None:
    """`y * stride + x`, with more values of x than the stride has elements."""
    for slow in (1, 2, 0):
        for fast in (0, 1, 2):
            a, b = (_step_of(race, fast), _step_of(race, slow)) if fast != slow else (None, None)
            if not a or not b or b % a or abs(b) < abs(a) or not 0 < abs(b // a) < len(_extent(race, fast)):
                continue
            partner = _neighbour(race, fast, slow, b // a)
            if partner is not None:
                return _stride_against_range(race, fast, slow, abs(b // a), partner)
    return _overlapping_spans(race)


def _neighbour(race: Race, fast: int, slow: int, step: int) -> Place | None:
    """The work-item in the next or last row that has the same index."""
    item = race.f.item
    for sign in (1, -1):
        other = replace_at(replace_at(item, slow, item[slow] - sign), fast, item[fast] + sign * step)
        inside = all(other[axis] in _extent(race, axis) for axis in (fast, slow))
        if inside and _index(race, other) == race.n.index:
            return other
    return None


def _stride_against_range(race: Race, fast: int, slow: int, stride: int, partner: Place) -> Why:
    n, count = race.n, len(_extent(race, fast))
    given = _stride_argument(n, slow, stride)
    formula = _formula(n)
    what = f"`{formula}`" if len(formula) <= LONGEST else "the index"
    row = f"{given.label} is {stride:,}" if given else f"a row has {stride:,} elements"
    text = (
        f"{what} is {n.index:,} for work-items {shown(race.f.item)} and {shown(partner)}: {row}, and the launch has"
        f" {count:,} work-items in dimension {fast}."
    )
    text = capital(text)
    rows = len(_extent(race, slow))
    across = [one for one in n.scalars if given and one != given and one.value == count]
    if given and across and (given.value == rows or is_launched(n, given.value, slow, least=2)):
        other = across[0]
        fact = (
            f"argument {given.argument} `{given.name}` is {given.value:,} and argument {other.argument} `{other.name}` is {other.value:,};"
            f" the launch has {_by_dimension(race)} work-items: the two look swapped"
        )
        step = f"Swap arguments {given.argument} ({given.label}) and {other.argument} ({other.label}) where they are set."
        if given.is_field or other.is_field:
            fact = f"{given.label} is {given.value:,} and {other.label} is {other.value:,}; the launch has {_by_dimension(race)} work-items"
            step = f"Swap {given.label} and {other.label}: each of them is the range of the other dimension."
        return Why("argument-order", text, (step,), n.passed_at(given.argument), (fact,))
    if given and is_launched(n, given.value, fast, least=2):
        variable = _id_text(n, fast)
        step = f"Skip the work-items where `{variable}` is not less than `{given.label}`: the launch is rounded up to whole groups."
        return Why("race-in-kernel", text, (step,))
    if given:
        launch = f"launch {given.value:,} work-items in dimension {fast}"
        step = f"Pass {count:,} for `{given.label}`, or {launch}." if count * rows <= n.held else f"{capital(launch)}."
        return Why("race-in-kernel", text, (step,), n.passed_at(given.argument))
    return Why("race-in-kernel", text, (f"Use a row of {count:,} elements, or launch {stride:,} work-items in dimension {fast}.",))


def _formula(n: Numbers) -> str:
    """The index as the source has it; of a variable, with what it is computed from."""
    assert n.tree is not None
    inner = n.tree
    while inner[0] in ("named", "to"):
        inner = inner[2]
    shown_first = values.text(n.tree)
    return f"{shown_first} = {values.text(inner)}" if inner is not n.tree and values.text(inner) != shown_first else shown_first


def _by_dimension(race: Race) -> str:
    return " x ".join(f"{len(_extent(race, axis)):,}" for axis in range(3) if len(_extent(race, axis)) > 1)


def _stride_argument(n: Numbers, slow: int, stride: int) -> Scalar | None:
    """The argument that the id of the slow dimension is multiplied with."""
    assert n.tree is not None
    for part in values.parts(n.tree):
        core = bare(part)
        if core[0] != "*":
            continue
        for row, by in ((core[2], core[3]), (core[3], core[2])):
            factor = bare(by)
            if factor[0] in ("argument", "field") and any(int(one[2]) == slow for one in has(row, "id")):
                name = values.text(factor)
                found = next((one for one in n.scalars if one.argument == factor[1] and one.name == name and one.value == stride), None)
                if found is not None:
                    return found
    return None


def _id_text(n: Numbers, axis: int) -> str:
    """The variable that holds the id of a dimension, as the source has it."""
    for part in values.parts(n.tree) if n.tree else ():
        if part[0] == "named" and bare(part)[0] == "id" and int(bare(part)[2]) == axis:
            return values.label(part)
    return f"get_global_id({axis})"


def shown(item: Place) -> str:
    return f"({item[0]}, {item[1]}, {item[2]})"


def _overlapping_spans(race: Race) -> Why | None:
    """`i * chunk + k` with a loop over more k than the chunk has elements."""
    n = race.n
    assert n.tree is not None and n.solved is not None
    counters = {one[1]: one for one in has(n.tree, "counter")}
    if len(counters) != 1:
        return None
    name, counter = next(iter(counters.items()))
    run, now = values.turns(counter, n.solved), n.solved.open.get(name)
    if run is None or now is None or len(run) < 2 or abs(run.step) != 1:
        return None
    for axis in range(3):
        step = _step_of(race, axis)
        for other in (race.f.item[axis] + 1, race.f.item[axis] - 1) if step else ():
            place = replace_at(race.f.item, axis, other)
            if other not in _extent(race, axis):
                continue
            index = _index(race, place, {name: now})
            moved = now + n.index - index if index is not None else None
            if moved is None or moved not in run or _index(race, place, {name: moved}) != n.index or not 1 < abs(step or 0) < len(run):
                continue
            bound = f"{values.label(counter)} {counter[5]} {values.text(counter[4])}"
            text = (
                f"Each work-item writes {len(run):,} elements (`{bound}`), and the next work-item starts {abs(step or 0):,} elements later:"
                f" work-items {shown(race.f.item)} and {shown(place)} both write element {n.index:,}."
            )
            advice = f"Let the loop run {abs(step or 0):,} times, or start the work-items {len(run):,} elements apart."
            return Why("race-in-kernel", text, (advice,))
    return None


def _repeated_local_id(race: Race, ids: set[tuple[str, int]]) -> Why | None:
    """Only local ids, which every group has."""
    if not race.across or {name for name, _ in ids} != {"get_local_id"}:
        return None
    axis = min(axis for _, axis in ids)
    updates = race.f.reads and race.f.writes
    deed = "update" if updates else "write"
    text = f"The index uses get_local_id({axis}) only, which is the same in every work-group, so that groups {deed} the same elements."
    if not updates and prod(len(_extent(race, each)) for each in range(3)) <= race.n.held:
        step = f"Use get_global_id({axis}) in the index, or add get_group_id({axis}) times the number of elements of a group."
        return Why("race-in-kernel", text, (step,))
    return Why("race-in-kernel", text, (_one_result_per_group(race),))


def _one_result_per_group(race: Race) -> str:
    """Of an element that several groups need: a larger index would leave the buffer."""
    n, groups = race.n, [race.n.world.ids.get(("get_num_groups", axis)) for axis in range(3)]
    rows = f"{prod(filter(None, groups)):,} x {n.held:,} elements" if all(groups) else f"{n.held:,} elements for each group"
    apart = f"give each group {plural(n.held, 'element')} of its own (allocate {rows}) and combine them in a second launch"
    if not race.f.reads:
        return f"{capital(apart)}, or let one group write {n.name}."
    example = " such as atomic_add" if _is_whole(race) else ""
    return f"Update `{race.f.site.text}` with an atomic function{example}, or {apart}."


def _is_whole(race: Race) -> bool:
    """Does the buffer have elements of a type that OpenCL's atomic functions take?"""
    given = race.f.facts.launches.values(race.n.launch) if race.n.launch is not None else ()
    kinds = [one["declared"].type for one in given if one["index"] == race.n.argument and one["declared"]]
    return any(kind.replace("unsigned int", "uint").removesuffix("*").strip() in ("int", "uint") for kind in kinds)


def _one_per_group(race: Race, ids: set[tuple[str, int]]) -> Why | None:
    """Only group ids, which all work-items of a group share."""
    if race.across or {name for name, _ in ids} != {"get_group_id"} or race.f.reads:
        return None
    axis = min(axis for _, axis in ids)
    text = f"The index uses get_group_id({axis}) only, which all work-items of a group share, and each of them writes the element."
    return Why("race-in-kernel", text, (f"Write it in one work-item of each group: `if (get_local_id({axis}) == 0)`.",))


def _unused_id(race: Race, ids: set[tuple[str, int]]) -> Why | None:
    """A dimension of the launch that the index does not have."""
    used = {axis for _, axis in ids}
    if race.f.reads:
        return None
    for axis in range(3):
        count = len(_extent(race, axis))
        if axis in used or count < 2:
            continue
        text = (
            f"The index does not use get_global_id({axis}), and the launch has {count:,} work-items in dimension {axis}: all of them write"
            f" the same elements."
        )
        fits = prod(len(_extent(race, each)) for each in range(3)) <= race.n.held
        use = f"Use get_global_id({axis}) in the index, or launch" if fits else "Launch"
        step = f"{use} one work-item in dimension {axis}."
        return Why("race-in-kernel", text, (step,))
    return None


def _folded_id(race: Race, ids: set[tuple[str, int]]) -> Why | None:
    """A division, a remainder or a limit that gives neighbouring ids the same number."""
    n = race.n
    for axis in sorted({axis for _, axis in ids}):
        for other in (race.f.item[axis] + 1, race.f.item[axis] - 1):
            place = replace_at(race.f.item, axis, other)
            if other not in _extent(race, axis) or _index(race, place) != n.index:
                continue
            folded = next((one for one in values.parts(n.tree or []) if one[0] in FOLDING and has(one, "id")), None)
            if folded is None:
                return None
            text = (
                f"`{values.text(folded)}` is the same for work-items {shown(race.f.item)} and {shown(place)}, so that both access element"
                f" {n.index:,}."
            )
            step = f"Give each work-item an element of its own, let one of them write `{race.f.site.text}`, or use an atomic function."
            return Why("race-in-kernel", text, (step,))
    return None
