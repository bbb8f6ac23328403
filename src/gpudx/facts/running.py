"""Launches that the driver took, and those that may still have been running at some call, or when the device faulted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.crumbs import State

MOST_RUNNING = 400  # launches, the newest


def accepted(facts: Facts, before: int) -> NDArray[np.bool_]:
    """Was it launched before a position, without an error?"""
    launches = facts.launches
    return (launches.status == 0) & launches.done & ~launches.captured & (launches.position < before)


def running_at(facts: Facts, position: int) -> NDArray[np.int64]:
    """The launches (rows of Launches) that no successful wait covers at a position; the newest, oldest first.

    One whose call had not returned is among them: a device may begin before that.
    """
    launches = facts.launches
    called = ~launches.done & ~launches.captured & (launches.position < position)
    open_ = (accepted(facts, position) | called) & facts.order.open(launches.position, launches.queue, position)
    return np.flatnonzero(open_)[-MOST_RUNNING:]


def running_at_fault(facts: Facts, position: int) -> NDArray[np.int64]:
    """Those of `running_at` that can have made a fault which was reported at a position.

    Work that faults does not complete, and nothing behind it in its stream begins. So a launch that breadcrumbs show as done, or as not
    begun, is not the one, even if the trace goes on after the report. Where they leave no launch, all of them count.
    """
    rows = running_at(facts, position)
    left = np.isin(facts.crumbs.at(facts.launches.position[rows]), (State.RUNNING, State.UNKNOWN))
    return rows[left] if left.any() else rows


def graphs_at_fault(facts: Facts, position: int) -> NDArray[np.int64]:
    """Positions of the graph launches that can have made a fault which was reported at a position."""
    graphs = facts.graphs
    open_ = (graphs.status == 0) & (graphs.position < position)
    open_ &= facts.order.open(graphs.position, graphs.queue, position)
    left = np.isin(facts.crumbs.at(graphs.position), (State.RUNNING, State.UNKNOWN))
    return graphs.position[open_ & left]


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
