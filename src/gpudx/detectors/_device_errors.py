"""What may have been running when a fault of the device was first reported, and what is odd about each of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._undersized import Short, object_of, shortages
from gpudx.detectors._undersized_words import told
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.crumbs import State
from gpudx.facts.once import once
from gpudx.facts.running import MOST_RUNNING, accepted, left_by_crumbs, running_at_fault
from gpudx.model import Evidence

FREED, NULL, PAST, SHORT = 8, 4, 2, 1  # how much each oddity weighs
OUT_OF_BOUNDS = "out-of-bounds-access"  # the cause that a report of an illegal address means
I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class Suspect:
    """A launch (a row of Launches) that may have faulted. `odd` says what is wrong with it, worst first."""

    launch: int
    weight: int
    odd: tuple[str, ...]
    argument: int | None = None
    object: int = -1
    short: tuple[Short, ...] = ()  # arguments with less room than the launch's numbers call for

    @property
    def only_short(self) -> bool:
        """Is the size of its memory all that is odd?"""
        return self.weight == SHORT


@dataclass(frozen=True)
class Interval:
    """The work that no successful wait covers before the report.

    `since` is the last call that showed that all was well for one of the queues concerned, -1 if there was none.
    """

    report: int
    since: int
    suspects: tuple[Suspect, ...]  # the most suspicious first, equal ones in order; then the others, newest first
    graphs: tuple[int, ...]  # launches of graphs among it, by position
    count: int = 0  # launches in it; only the newest are ranked
    completed: int | None = None  # launches that crumbs or waits show to have ended; None: crumbs say nothing

    @property
    def odd(self) -> tuple[Suspect, ...]:
        return tuple(s for s in self.suspects if s.weight)


def while_running(report: int) -> Evidence:
    """What ties a launch of the interval to the fault that was reported."""
    return Evidence("the device reported a fault while this launch may have been running", (report + 1,))


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
    running = accepted(facts, report)
    open_ = running & facts.order.open(launches.position, launches.queue, report)
    ran = np.flatnonzero((open_ | _itself(facts, report)) & _may_be_of(facts, report))
    waiting = (graphs.status == 0) & facts.order.open(graphs.position, graphs.queue, report)
    started = np.flatnonzero(waiting | (graphs.started & (graphs.position == report)))
    known = left_by_crumbs(facts, launches.position[ran], graphs.position[started])
    if known is not None:
        ran, started = ran[known[0]], started[known[1]]
    short = _shortages(facts, ran[-MOST_RUNNING:], running & ~open_, report)
    ranked = [suspect(facts, row, short.get(row, ())) for row in ran[-MOST_RUNNING:].tolist()]
    # The first that faults stops the rest. Without crumbs what ran last is more likely not to have ended.
    ranked.sort(key=lambda s: (-s.weight, s.launch if s.weight or known is not None else -s.launch))
    queues = facts.order.pairs(launches.position[ran], launches.queue[ran])
    since = max((facts.order.covered(q, c, report) for q, c in queues), default=-1)
    positions = tuple(map(int, graphs.position[started]))
    completed = None if known is None else _completed(facts, running & _may_be_of(facts, report), open_)
    return Interval(report, since, tuple(ranked), positions, len(ran), completed)


def may_have_faulted(facts: Facts) -> set[int]:
    """The launches that may have made the illegal address that was reported or printed, if one was."""
    aborts = [position for position, abort in facts.messages.aborts if abort.cause == OUT_OF_BOUNDS]
    printed = [position for position, _ in facts.messages.faults] or aborts
    if printed:
        return set(running_at_fault(facts, printed[0]).tolist())
    found = interval(facts)
    if found is None or facts.errors.device_cause(found.report) != OUT_OF_BOUNDS:
        return set()
    return {one.launch for one in found.suspects}


def _completed(facts: Facts, accepted: Bool, open_: Bool) -> int:
    done = facts.crumbs.at(facts.launches.position) == State.DONE
    return int((accepted & (~open_ | done)).sum())


def _itself(facts: Facts, report: int) -> Bool:
    """A launch that reports, where it may have run: then the fault may be its own."""
    return (facts.launches.position == report) & facts.errors.may_be_own(report)


def _may_be_of(facts: Facts, report: int) -> Bool:
    """Launches in a context whose faults the call reports."""
    context = 0 if facts.errors.crosses_contexts(report) else facts.contexts.number(report)
    mine = facts.trace.context[facts.launches.position]
    return (mine == context) | (mine == 0) if context else np.ones(len(mine), bool)


def _shortages(facts: Facts, launches: I64, ended_well: Bool, report: int) -> dict[int, tuple[Short, ...]]:
    """Arguments that are too small, by launch: what can have made an illegal address, and no other fault."""
    illegal = facts.errors.device_cause(report) == OUT_OF_BOUNDS
    return shortages(facts, launches, ended_well) if illegal else {}


def suspect(facts: Facts, launch: int, short: Sequence[Short] = ()) -> Suspect:
    """What is odd about one launch."""
    found = [*_freed(facts, launch), *_null(facts, launch), *_past(facts, launch), *_short(facts, short)]
    found.sort(key=lambda f: -f[0])
    first = found[0] if found else (0, "", None, -1)
    return Suspect(launch, sum({f[0] for f in found}), tuple(f[1] for f in found), first[2], first[3], tuple(short))


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


def _short(facts: Facts, short: Sequence[Short]) -> list[Odd]:
    """If several arguments are short, the numbers may be wrong and not the memory: then none of them is named."""
    alone = len(short) == 1
    return [(SHORT, told(facts, s), s.argument if alone else None, object_of(facts, s) if alone else -1) for s in short]
