"""A handle that meant another object before: who still takes it for the old one?

A driver gives the handle of an object that is gone to the next one. Whoever kept a copy then uses, and releases, an object that is none of
its own, and its real owner is accused of one release too many. Where the three releases come from tells them apart: the one that comes
from the same code as the release of the old object was meant for that one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts

MOST_LAUNCHES = 4096  # that are looked at


@dataclass(frozen=True)
class Earlier:
    """The object that a handle named before, the release that ended it, and where its handle was used since, if that is known."""

    row: int
    ended: int
    mistaken: int | None = None  # the release of the new object that was meant for the old one
    launch: tuple[int, int] | None = None  # a launch that was passed the new object in its place, and the argument


def earlier_object(facts: Facts, row: int, surplus: int) -> Earlier | None:
    """What the handle of the object `row`, which the call at `surplus` released once more, named before."""
    table = facts.objects.table
    same = np.flatnonzero((table["handle"] == table["handle"][row]) & (table["died"] >= 0) & (table["died"] < table["born"][row]))
    if not len(same):
        return None
    old = int(same[np.argmax(table["died"][same])])
    ended = int(table["died"][old])
    mistaken = _like(facts, ended, int(table["died"][row]), surplus)
    return Earlier(old, ended, mistaken, _launched_with(facts, old, row) if mistaken is not None else None)


def _like(facts: Facts, model: int, first: int, second: int) -> int | None:
    """Which of two calls comes from the same code as `model`, and the other does not; the first frame in which they differ decides."""
    if min(model, first, second) < 0:
        return None
    for frames in zip(*(_frames(facts, position) for position in (model, first, second)), strict=False):
        if len(set(frames)) > 1:
            of_model, of_first, of_second = frames
            if of_first != of_second and of_model in (of_first, of_second):
                return first if of_model == of_first else second
            return None
    return None


def _frames(facts: Facts, position: int) -> tuple[int, ...]:
    """Return addresses from the caller of the API outwards."""
    caller, stack = int(facts.trace.column("caller", np.array([position]))[0]), facts.stacks.at(position)
    addresses = stack.addresses if stack is not None else ()
    return addresses[addresses.index(caller) :] if caller in addresses else (caller,)


def _launched_with(facts: Facts, old: int, new: int) -> tuple[int, int] | None:
    """The first launch that was passed the new object by a line that had passed the old one."""
    table, sets, trace = facts.objects.table, facts.set_args, facts.trace
    mine = np.flatnonzero(sets.value == table["handle"][new])
    callers = trace.column("caller", sets.position[mine])
    before = {
        (int(caller), int(sets.index[row])) for row, caller in zip(mine, callers, strict=True) if sets.position[row] < table["died"][old]
    }
    since = [
        int(row)
        for row, caller in zip(mine, callers, strict=True)
        if sets.position[row] > table["born"][new] and (int(caller), int(sets.index[row])) in before
    ]
    for row in since:
        after = (facts.launches.kernel_row == sets.kernel_row[row]) & (facts.launches.position > sets.position[row])
        launches = np.flatnonzero(after)[:MOST_LAUNCHES]
        if len(launches):
            return int(facts.launches.position[launches[0]]), int(sets.index[row])
    return None
