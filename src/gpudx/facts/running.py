"""Which launches ran, and which of them may still have been running at some time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts

Bool = NDArray[np.bool_]


def ran(facts: Facts, before: int) -> tuple[Bool, Bool]:
    """Per launch: was it started before a position; and may it have been running then, because no wait covers it?"""
    launches = facts.launches
    started = (launches.status == 0) & launches.done & ~launches.captured & (launches.position < before)
    return started, started & facts.order.open(launches.position, launches.queue, before)
