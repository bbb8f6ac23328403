"""Reports of checked kernels that can follow from an earlier one.

A check leaves out the access that fails, so that a read gives 0 and a write is missing. What is computed from that afterwards (an index,
an element that nothing wrote, a division) may fail only because of it, even in a program whose plain runs give the right result. So an
access outside memory, or an index that its variable is too narrow for, comes before the races, uninitialized reads and NaNs of its
launch, and of later launches that its data reaches.

The other way round, an index that is read from memory goes anywhere, also to the element of another work-item, if a launch that this access
gets its data from read what a fill or copy left that ended too early, or local memory that nothing had written: then that comes first.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from math import prod

from gpudx.diagnose import partial_writes
from gpudx.diagnose.access_numbers import Numbers, has
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.given_memory import uses
from gpudx.text import listed, plural

LEADING = ("bounds", "alignment", "barrier", "loop", "image")  # something is left out of the launch
FOLLOWING = {
    "race": "race",
    "uninitialized": "read of uninitialized memory",
    "nan": "NaN or infinity",
    "division": "division by zero",
    "bounds": "access outside a buffer",
}
SPOILING = ("race", "uninitialized")
NO_BUFFER = -1  # local memory, and other arrays
MANY = {
    "read of uninitialized memory": "reads of uninitialized memory",
    "NaN or infinity": "NaNs or infinities",
    "division by zero": "divisions by zero",
    "access outside a buffer": "accesses outside buffers",
}
MOST_LEADERS = 16


def led_by(found: Sequence[Failure]) -> dict[int, Failure]:
    """For each report that can follow from an earlier one, by its place in `found`: the first that it can follow from."""
    following = [at for at, one in enumerate(found) if one.kind in FOLLOWING and one.kind != "bounds" and not _must_collide(one)]
    garbled = _garbled(found)
    reached: list[tuple[Failure, Collection[int]]] = []
    for number, one in enumerate(found if following else ()):
        known = len(reached) == MOST_LEADERS or _first(one, reached) is not None  # what that one reaches, the first one reaches too
        leads = one.kind in LEADING or (one.kind == "overflow" and bool(one.site.watched))
        if leads and not known and number not in garbled and not _is_misled(one, found):
            reached.append((one, _reached(one.facts, one.position)))
    return {**garbled, **{at: first for at in following if (first := _first(found[at], reached)) is not None}}


def _garbled(found: Sequence[Failure]) -> dict[int, Failure]:
    """Accesses outside memory and races whose index comes from memory, after a launch that read what a short fill or copy left, or local
    memory that nothing had written."""
    late = [at for at, one in enumerate(found) if one.kind in ("bounds", "race") and _read_for(one)]
    raced = {(one.position, one.thing) for one in found if one.kind == "race"}  # read too early, and written all the same
    fresh = [one for one in found if late and one.kind == "uninitialized" and (one.position, one.thing) not in raced]
    short = [one for one in fresh if _is_local(one) or partial_writes.why(one) is not None]
    reached = [(one, *_spread(one.facts, one.position)) for one in short[:MOST_LEADERS]]
    led = {
        at: leader
        for at in late
        for leader, places, memory in reversed(reached)
        if leader.facts is found[at].facts and found[at].position in places and _read_for(found[at]) & {*memory, _memory(leader)}
        if found[at].kind == "bounds" or found[at].position > leader.position
    }
    return {**led, **_left_unwritten(found, led)}


def _left_unwritten(found: Sequence[Failure], led: Mapping[int, Failure]) -> dict[int, Failure]:
    """Reads of elements that nothing wrote, in buffers whose elements a garbled index of an earlier launch mixed up."""
    mixed = [(found[at], leader) for at, leader in led.items() if found[at].kind == "race" and _memory(found[at]) != NO_BUFFER]
    return {
        at: leader
        for at, one in enumerate(found)
        for race, leader in mixed
        if one.kind == "uninitialized" and one.facts is race.facts and one.position >= race.position and _memory(one) == _memory(race)
    }


def _is_local(one: Failure) -> bool:
    return one.thing is not None and "local" in (one.thing.kind, one.thing.space)


def _must_collide(one: Failure) -> bool:
    """Do more work-items come to an update than the buffer has elements? Then two of them meet, whatever an earlier fault left."""
    launch = one.facts.launches.at_position(one.position) if one.kind == "race" and one.reads and one.writes else None
    if launch is None or one.thing is None or one.thing.kind != "argument" or not one.thing.element:
        return False
    items = prod(max(1, size) for size in one.facts.launches.geometry(launch)[0])
    if one.site.conditional:
        guards, numbers = {text: argument for argument, text in one.site.guards}, Numbers(one)
        known = all(kind == "if" and text in guards for kind, _, text in one.site.inside)
        limits = [number.value for text, argument in guards.items() for number in numbers.compared(argument, text)]
        items = min(items, *limits) if one.site.inside and known and limits else 0
    return items > one.size // one.thing.element


def _first(one: Failure, reached: Sequence[tuple[Failure, Collection[int]]]) -> Failure | None:
    return next((leader for leader, places in reached if leader.facts is one.facts and one.position in places), None)


def sentence(led: Sequence[Failure]) -> str:
    """ "2 races and 1 read of uninitialized memory in launch 4 were reported after it and can follow from it"."""
    counts = [plural(n, name, MANY.get(name)) for kind, name in FOLLOWING.items() if (n := sum(one.kind == kind for one in led))]
    launches = list(dict.fromkeys(one.facts.sites.at(one.position).launch for one in led))
    where = f"launch {launches[0]}" if len(launches) == 1 else f"{len(launches):,} launches"
    return f"{listed(counts)} in {where} {'was' if len(led) == 1 else 'were'} reported after it and can follow from it"


def _is_misled(one: Failure, found: Sequence[Failure]) -> bool:
    """Does it depend on an element of memory that is itself raced for or uninitialized? Then that came first."""
    before = [other for other in found if other.facts is one.facts and other.position <= one.position and other.kind in SPOILING]
    return one.kind == "bounds" and bool(before) and bool({_memory(other) for other in before} & _read_for(one))


def _memory(f: Failure) -> int:
    """The buffer that a report is about, as a row of the objects."""
    return _buffer(f, f.thing.index) if f.thing is not None and f.thing.kind == "argument" else NO_BUFFER


def _buffer(f: Failure, argument: int) -> int:
    launch = f.facts.launches.at_position(f.position)
    given = f.facts.launches.values(launch) if launch is not None else ()
    return next((int(one["object"]) for one in given if one["index"] == argument), NO_BUFFER)


def _read_for(f: Failure) -> set[int]:
    """Memory that the index was loaded from; of an index that is not understood, all that the launch may read."""
    ways = [way.index for way in f.site.ways] or [f.site.index]
    trees = [json.loads(one) for one in ways if one]
    if len(trees) < len(ways) or any(has(tree, "open") for tree in trees):
        table = uses(f.facts)
        mine = table[(table["position"] == f.position) & ((table["how"] & READ) != 0)]
        return {NO_BUFFER, *(int(one["object"]) for one in mine if int(one["argument"]) not in _only_written(f))}
    return {_buffer(f, int(load[3])) for tree in trees for load in has(tree, "load")}


def _only_written(f: Failure) -> set[int]:
    """Arguments of the launch that the kernel never reads, as its source shows."""
    launch = f.facts.launches.at_position(f.position)
    names = f.facts.kernels.only_written(int(f.facts.launches.kernel_row[launch])) if launch is not None else ()
    given = f.facts.launches.values(launch) if launch is not None else ()
    return {int(one["index"]) for one in given if one["declared"] and one["declared"].name in names}


def _reached(facts: Facts, position: int) -> Collection[int]:
    return _spread(facts, position)[0]


def _spread(facts: Facts, position: int) -> tuple[Collection[int], Collection[int]]:
    """The launch, and later calls that use what it may have written, also through other launches; and what they may have written. What
    the host has read back may decide about every later call."""
    table = uses(facts)
    later = table[table["position"] >= position]
    tainted: set[int] = set()
    places: set[int] = {position}
    for at, group in groupby(later, key=lambda row: int(row["position"])):
        rows = list(group)
        if at != position and not any(int(row["object"]) in tainted and row["how"] & READ for row in rows):
            continue
        places.add(at)
        written = {int(row["object"]) for row in rows if row["how"] & WRITE}
        if not written and all(row["argument"] < 0 for row in rows):
            return places | set(map(int, later["position"][later["position"] > at])), tainted
        tainted |= written
    return places, tainted
