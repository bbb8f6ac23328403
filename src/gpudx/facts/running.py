"""Launches that the driver took, and those that may still have been running at some call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts

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
