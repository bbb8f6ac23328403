"""Launches that the driver took, and those that may still have been running at some call, or when the device faulted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.crumbs import State
from gpudx.facts.stuck import held_graphs

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
MOST_RUNNING = 400  # launches, the newest


def accepted(facts: Facts, before: int) -> Bool:
    """Was it launched before a position, without an error?"""
    launches = facts.launches
    return (launches.status == 0) & launches.done & ~launches.captured & (launches.position < before)


def running_at(facts: Facts, position: int) -> I64:
    """The launches (rows of Launches) that no successful wait covers at a position; the newest, oldest first.

    One whose call had not returned is among them: a device may begin before that.
    """
    launches = facts.launches
    called = ~launches.done & ~launches.captured & (launches.position < position)
    open_ = (accepted(facts, position) | called) & facts.order.open(launches.position, launches.queue, position)
    return np.flatnonzero(open_)[-MOST_RUNNING:]


def left_by_crumbs(facts: Facts, launches: I64, graphs: I64) -> tuple[Bool, Bool] | None:
    """Of work that may have been running at a fault, by its positions: which of it breadcrumbs leave.

    Work that faults does not complete, and nothing behind it in its stream begins. So what breadcrumbs show as done, or as not begun, is
    not the culprit, even if the trace goes on after the report. None where they show nothing, or would leave nothing at all.
    """
    states = [facts.crumbs.at(positions) for positions in (launches, graphs)]
    left = [np.isin(found, (State.RUNNING, State.UNKNOWN)) for found in states]
    narrowed = any(len(mask) and not mask.all() for mask in left)
    if not any(mask.any() for mask in left) or not (narrowed or any((s == State.RUNNING).any() for s in states)):
        return None
    held = held_graphs(facts, facts.crumbs.fronts)
    return left[0], left[1] & ~np.isin(graphs, list(held))


def running_at_fault(facts: Facts, position: int) -> I64:
    """Those of `running_at` that can have made a fault which was reported at a position. Where breadcrumbs leave nothing, all count."""
    return _at_fault(facts, position)[0]


def graphs_at_fault(facts: Facts, position: int) -> I64:
    """Positions of the graph launches that can have made a fault which was reported at a position."""
    return _at_fault(facts, position)[1]


def _at_fault(facts: Facts, position: int) -> tuple[I64, I64]:
    rows, graphs = running_at(facts, position), facts.graphs
    open_ = (graphs.status == 0) & (graphs.position < position)
    started = graphs.position[open_ & facts.order.open(graphs.position, graphs.queue, position)]
    left = left_by_crumbs(facts, facts.launches.position[rows], started)
    return (rows, started) if left is None else (rows[left[0]], started[left[1]])


def completed(facts: Facts) -> int | None:
    """How many launches breadcrumbs show as done; None where they say nothing of any launch."""
    states = facts.crumbs.at(facts.launches.position)
    return int((states == State.DONE).sum()) if (states != State.UNKNOWN).any() else None


def whole(facts: Facts, covered: bool | None = None) -> bool:
    """Is all work that can have been running in the trace? Overwritten calls do not matter where they are `covered`: known to be done,
    which breadcrumbs decide if nothing else does."""
    unseen = facts.trace.named("note_unknown_entry")  # functions that are not recorded: there may be work that nobody saw
    if covered is None:
        covered = completed(facts) is not None and facts.crumbs.complete
    kept = all(gap.kind == "overwritten" for gap in facts.trace.gaps) and covered
    return (kept or not facts.trace.gaps) and not len(unseen)
