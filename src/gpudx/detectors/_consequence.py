"""What a bad setting led to: the launch that had it and failed."""

from __future__ import annotations

import numpy as np

from gpudx.detectors._words import site_of
from gpudx.facts import Facts
from gpudx.model import Site


def failed_launch(facts: Facts, set_row: int) -> tuple[Site, ...]:
    """The first launch after a setting that was refused, or never returned, while the argument still had that value.

    Many drivers look at the values of arguments only then.
    """
    sets, launches = facts.set_args, facts.launches
    bad = (launches.kernel_row == sets.kernel_row[set_row]) & (launches.position > sets.position[set_row])
    bad &= (launches.status != 0) | ~launches.done
    rows = np.flatnonzero(bad)
    if not len(rows) or not _still_held(facts, int(rows[0]), set_row):
        return ()
    return (site_of(facts, int(launches.position[rows[0]])),)


def _still_held(facts: Facts, launch: int, set_row: int) -> bool:
    sets = facts.set_args
    size, index = int(sets.size[set_row]), int(sets.index[set_row])
    if sets.status[set_row] != 0:  # what was refused is not held: nothing is, unless an earlier setting succeeded
        return all(a["index"] != index for a in facts.launches.values(launch))
    value = int(sets.value[set_row]).to_bytes(8, "little")[:size]
    held = (a for a in facts.launches.values(launch) if a["index"] == index)
    return any(a["size"] == size and a["bytes"][:8] == value for a in held)
