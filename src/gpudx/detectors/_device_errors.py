"""What may have been running when a fault of the device was first reported, and what is odd about each of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from gpudx.detectors._once import once
from gpudx.detectors._words import argument, plural
from gpudx.facts import Facts

FREED, NULL, PAST, SMALL = 8, 4, 2, 1  # how much each oddity weighs
MOST_FACTORS = 3
MOST_RANKED = 400  # launches that are looked at one by one, the newest


@dataclass(frozen=True)
class Suspect:
    """A launch (a row of Launches) that may have faulted. `odd` says what is wrong with it, worst first."""

    launch: int
    weight: int
    odd: tuple[str, ...]
    argument: int | None = None
    object: int = -1


@dataclass(frozen=True)
class Interval:
    """The work that no successful wait covers before the report.

    `since` is the last call that showed that all was well for one of the queues concerned, -1 if there was none.
    """

    report: int
    since: int
    suspects: tuple[Suspect, ...]  # most suspicious first, then the newest
    graphs: tuple[int, ...]  # launches of graphs among it, by position
    count: int = 0  # launches in it; only the newest are ranked

    @property
    def odd(self) -> tuple[Suspect, ...]:
        return tuple(s for s in self.suspects if s.weight)


def first_report(facts: Facts) -> int | None:
    """The first call that reports a fault of the device."""
    return int(facts.errors.reports[0]) if len(facts.errors.reports) else None


@once
def interval(facts: Facts) -> Interval | None:
    """What may have been running when the first report came; None when no fault was reported."""
    report = first_report(facts)
    if report is None:
        return None
    launches, graphs = facts.launches, facts.graphs
    ran = np.flatnonzero((launches.status == 0) & launches.done & ~launches.captured & _same_context(facts, report))
    ran = ran[facts.order.open(launches.position[ran], launches.queue[ran], report)]
    started = np.flatnonzero(graphs.status == 0)
    started = started[facts.order.open(graphs.position[started], graphs.queue[started], report)]
    ranked = [suspect(facts, int(row)) for row in ran[-MOST_RANKED:]]
    ranked.sort(key=lambda s: (-s.weight, -s.launch))
    queues = facts.order.pairs(launches.position[ran], launches.queue[ran])
    since = max((facts.order.covered(q, c, report) for q, c in queues), default=-1)
    return Interval(report, since, tuple(ranked), tuple(map(int, graphs.position[started])), len(ran))


def _same_context(facts: Facts, report: int) -> np.typing.NDArray[np.bool_]:
    context = facts.contexts.number(report)
    mine = facts.trace.context[facts.launches.position]
    return (mine == context) | (mine == 0) if context else np.ones(len(mine), bool)


def suspect(facts: Facts, launch: int) -> Suspect:
    """What is odd about one launch."""
    found = [*_freed(facts, launch), *_null(facts, launch), *_past(facts, launch), *_small(facts, launch)]
    found.sort(key=lambda f: -f[0])
    first = found[0] if found else (0, "", None, -1)
    return Suspect(launch, sum({f[0] for f in found}), tuple(f[1] for f in found), first[2], first[3])


Odd = tuple[int, str, int | None, int]


def _name(facts: Facts, launch: int, index: int) -> str:
    return argument(facts, int(facts.launches.kernel_row[launch]), index)


def _freed(facts: Facts, launch: int) -> list[Odd]:
    pointers = facts.launches.pointers
    found: list[Odd] = []
    for row in pointers.of(launch):
        obj, index = int(pointers.object[row]), int(pointers.index[row])
        if obj >= 0 and not pointers.live[row] and not pointers.inside[row]:
            text = f"{_name(facts, launch, index)} points into freed {facts.objects.label(obj)}"
            found.append((FREED, text, index, obj))
    return found


def _null(facts: Facts, launch: int) -> list[Odd]:
    pointers = facts.launches.pointers
    rows = [r for r in pointers.of(launch) if pointers.declared[r] and not pointers.value[r]]
    names = [(int(pointers.index[r]), _name(facts, launch, int(pointers.index[r]))) for r in rows]
    return [(NULL, f"{name} is null", index, -1) for index, name in names]


def _past(facts: Facts, launch: int) -> list[Odd]:
    """A pointer right past the end of live memory: nothing can be read or written there."""
    pointers, position = facts.launches.pointers, int(facts.launches.position[launch])
    found: list[Odd] = []
    for row in pointers.of(launch):
        if not pointers.declared[row] or pointers.live[row] or pointers.object[row] >= 0:
            continue
        end = facts.memory.ends_at(int(pointers.value[row]), position)
        if end >= 0:
            index = int(pointers.index[row])
            text = f"{_name(facts, launch, index)} is the end of {facts.objects.label(end)}"
            found.append((PAST, text, index, end))
    return found


def _small(facts: Facts, launch: int) -> list[Odd]:
    """Memory that no product of the launch's own numbers explains, and that is smaller than the least of two."""
    counts = _counts(facts, launch)
    products = sorted(prod(c) for n in range(2, MOST_FACTORS + 1) for c in combinations(counts, n))
    if not products:
        return []
    found = []
    for value in facts.launches.values(launch):
        known, obj = value["declared"], int(value["object"])
        if obj < 0 or known is None or not known.element:
            continue
        size = int(facts.objects.table["size"][obj])
        offset = facts.memory.offset(obj, int.from_bytes(value["bytes"], "little"))
        room, least = (size - offset) // known.element, products[0]
        if room < least and room not in counts and room not in products and room > max(counts):
            text = (
                f"{_name(facts, launch, known.index)} has room for {plural(room, 'element')} in "
                f"{facts.objects.label(obj)}, the least product of two of the launch's numbers is {least:,}"
            )
            found.append((SMALL, text, known.index, obj))
    return found


def _counts(facts: Facts, launch: int) -> list[int]:
    """The whole numbers above 1 that a launch was given."""
    found = []
    for value in facts.launches.values(launch):
        known = value["declared"]
        if known and known.scalar in ("int", "uint", "long", "ulong"):
            number = int.from_bytes(value["bytes"], "little", signed=known.scalar in ("int", "long"))
            found += [number] if 1 < number < 1 << 40 else []
    return found[:8]
