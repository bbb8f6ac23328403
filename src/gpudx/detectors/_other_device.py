"""Memory that a launch on another device was given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.objects import FAMILIES

LOCAL = [FAMILIES.index(name) for name in ("device", "pitched", "async")]
GRANTS = ("EnablePeerAccess", "SetAccess")  # how calls that let other devices in end
I64 = NDArray[np.int64]


def strangers(facts: Facts) -> I64:
    """The pointers (rows of Pointers) into live memory of another device, where no call let devices into each other's."""
    if len(facts.kernels.devices) < 2 or granted(facts):
        return np.zeros(0, np.int64)
    rows = of_other_contexts(facts)
    return np.asarray(rows[[_differs(facts, int(r)) for r in rows]], np.int64)


def of_other_contexts(facts: Facts) -> I64:
    """The pointers (rows of Pointers) into live device memory of another context than the launch's."""
    pointers, launches = facts.launches.pointers, facts.launches
    rows = np.flatnonzero(pointers.live & ~pointers.inside & ~launches.captured[pointers.launch])
    table = facts.objects.table[pointers.object[rows]]
    context = _contexts(facts)[pointers.launch[rows]]
    known = (context != 0) & (table["context"] != 0)
    return np.asarray(rows[np.isin(table["family"], LOCAL) & (table["context"] != context) & known], np.int64)


def _contexts(facts: Facts) -> NDArray[np.uint32]:
    """The context that each launch ran in: that of its queue, where the making of that was seen, else the thread's."""
    launches = facts.launches
    queues = facts.objects.at(launches.queue, launches.position)
    made = np.append(facts.objects.table["context"], np.uint32(0))[queues]
    return np.where(made != 0, made, facts.trace.context[launches.position])


def granted(facts: Facts) -> bool:
    calls = tuple(c for c in facts.trace.schema.calls if c.name.endswith(GRANTS))
    return bool(calls) and len(facts.trace.select(calls)) > 0


def devices(facts: Facts, row: int) -> tuple[int | None, int | None]:
    """The device of the memory, and of the launch."""
    pointers = facts.launches.pointers
    position = int(facts.launches.position[pointers.launch[row]])
    own = facts.objects.table[pointers.object[row]]
    home = facts.contexts.device(int(own["context"]), int(own["born"]))
    return home, facts.contexts.device(int(_contexts(facts)[pointers.launch[row]]), position)


def _differs(facts: Facts, row: int) -> bool:
    home, here = devices(facts, row)
    return home is not None and here is not None and home != here
